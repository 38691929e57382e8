import { readDockerfile } from "#template-files";
import { InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import type { CustomCommandSpec } from "../../shared/custom-commands.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { customCommandsStep } from "./custom-commands-step.js";
import { importDockerfile } from "./dockerfile-import.js";
import { ReadyCommand } from "./ready-command.js";
import {
  aptInstallStep,
  bunInstallStep,
  gitCloneStep,
  makeDirStep,
  makeSymlinkStep,
  npmInstallStep,
  pipInstallStep,
  removeStep,
  renameStep,
  type ShellStep,
  toOctal,
} from "./shell-steps.js";
import type { CopyOptions, RegistryConfig, TemplateDefinition, TemplateSource, TemplateStep } from "./template-step.js";

/** How a template is begun. */
export interface TemplateOptions {
  /** Directory that sources of `copy` are relative to. @defaultValue the directory of the program that calls `Template()` */
  readonly fileContextPath?: string;
  /** Files to leave out, in the form of `.dockerignore`, whose patterns count too. */
  readonly fileIgnorePatterns?: readonly string[];
}

/** One element of `copyItems`. */
export interface CopyItem extends CopyOptions {
  readonly src: string | readonly string[];
  readonly dest: string;
}

interface UserOption {
  /** Who runs it. @defaultValue the user of the step */
  readonly user?: string;
}

/** A template whose start is decided, so it is complete. */
export type FinishedTemplate = Pick<TemplateBuilder, "definition">;

const BASE_IMAGE = "e2bdev/base";
const MCP_TEMPLATE = "mcp-gateway";
const DEVCONTAINER_TEMPLATE = "devcontainer";

/** Describes a template step by step. Every method changes this builder and returns it; nothing is sent before the build. */
export class TemplateBuilder {
  readonly #options: TemplateOptions;
  readonly #stack: string | undefined;
  readonly #steps: TemplateStep[] = [];
  #source: TemplateSource = { fromImage: BASE_IMAGE };
  #startCommand: string | undefined;
  #readyCommand: string | undefined;
  #isForced = false;
  #isForcedWhole = false;

  /** @param stack of the call that begins the template. */
  constructor(options: TemplateOptions = {}, stack?: string) {
    this.#options = options;
    this.#stack = stack;
  }

  /** What was described so far. */
  get definition(): TemplateDefinition {
    return {
      source: this.#source,
      steps: [...this.#steps],
      startCommand: this.#startCommand,
      readyCommand: this.#readyCommand,
      force: this.#isForcedWhole,
      contextPath: this.#options.fileContextPath,
      ignorePatterns: this.#options.fileIgnorePatterns ?? [],
      stack: this.#stack,
    };
  }

  /** Begin with the image `debian:<variant>`. */
  fromDebianImage(variant = "stable"): this {
    return this.fromImage(`debian:${variant}`);
  }

  /** Begin with the image `ubuntu:<variant>`. */
  fromUbuntuImage(variant = "latest"): this {
    return this.fromImage(`ubuntu:${variant}`);
  }

  /** Begin with the image `fedora:<variant>`. */
  fromFedoraImage(variant = "44"): this {
    return this.fromImage(`fedora:${variant}`);
  }

  /** Begin with the image `alpine:<variant>`. */
  fromAlpineImage(variant = "3.24"): this {
    return this.fromImage(`alpine:${variant}`);
  }

  /** Begin with the image `archlinux:<variant>`. */
  fromArchImage(variant = "latest"): this {
    return this.fromImage(`archlinux:${variant}`);
  }

  /** Begin with the image `python:<version>`. */
  fromPythonImage(version = "3"): this {
    return this.fromImage(`python:${version}`);
  }

  /** Begin with the image `node:<variant>`. */
  fromNodeImage(variant = "lts"): this {
    return this.fromImage(`node:${variant}`);
  }

  /** Begin with the image `oven/bun:<variant>`. */
  fromBunImage(variant = "latest"): this {
    return this.fromImage(`oven/bun:${variant}`);
  }

  /** The image of the template `base`; the default. */
  fromBaseImage(): this {
    return this.fromImage(BASE_IMAGE);
  }

  /**
   * Begin with an image.
   *
   * @throws {@link InvalidArgumentError} no image, or only one half of the credentials.
   */
  fromImage(image: string, credentials?: { readonly username?: string | undefined; readonly password?: string | undefined }): this {
    if (credentials === undefined) return this.#from(image, undefined);
    const { username, password } = credentials;
    if (!username || !password) {
      throw new InvalidArgumentError("fromImage needs both username and password, or no credentials at all");
    }
    return this.#from(image, { type: "registry", username, password });
  }

  /** Begin with an image of AWS ECR. @throws {@link InvalidArgumentError} a part of the credentials is missing. */
  fromAWSRegistry(
    image: string,
    { accessKeyId, secretAccessKey, region }: { readonly accessKeyId: string; readonly secretAccessKey: string; readonly region: string },
  ): this {
    if (!accessKeyId || !secretAccessKey || !region) {
      throw new InvalidArgumentError("fromAWSRegistry needs accessKeyId, secretAccessKey and region");
    }
    return this.#from(image, { type: "aws", awsAccessKeyId: accessKeyId, awsSecretAccessKey: secretAccessKey, awsRegion: region });
  }

  /** Begin with an image of Google's registry; the key of the service account as an object or as JSON text. */
  fromGCPRegistry(image: string, { serviceAccountJSON }: { readonly serviceAccountJSON: object | string }): this {
    const json =
      typeof serviceAccountJSON === "object" && serviceAccountJSON !== null ? JSON.stringify(serviceAccountJSON) : serviceAccountJSON;
    if (!json) throw new InvalidArgumentError("fromGCPRegistry needs serviceAccountJSON");
    return this.#from(image, { type: "gcp", serviceAccountJson: json });
  }

  /** Begin with another template, by a reference such as `name` or `name:tag`. */
  fromTemplate(template: string): this {
    if (!template) throw new InvalidArgumentError("fromTemplate needs the reference of a template");
    this.#source = { fromTemplate: template };
    return this;
  }

  /**
   * Take everything from a Dockerfile, given as its text or, on Node, its path.
   *
   * @throws {@link InvalidArgumentError} an instruction that a template cannot express; the message names the line.
   */
  fromDockerfile(contentOrPath: string, options: { readonly buildArgs?: Readonly<Record<string, string>> } = {}): this {
    importDockerfile(readDockerfile(contentOrPath), this, options.buildArgs ?? {});
    return this;
  }

  /** Copy files of the context directory, as COPY of a Dockerfile. @throws {@link TemplateError} a source leads out of the context. */
  copy(src: string | readonly string[], dest: string, options: CopyOptions = {}): this {
    const { user = "", mode, forceUpload, resolveSymlinks, gzip } = options;
    if (dest === "") throw new InvalidArgumentError("copy needs a destination");
    const octal = mode === undefined ? "" : toOctal(mode);
    for (const source of typeof src === "string" ? [src] : src) {
      assertInContext(source);
      this.#add("COPY", [source, dest, user, octal], {
        ...(forceUpload !== undefined && { forceUpload }),
        ...(resolveSymlinks !== undefined && { resolveSymlinks }),
        ...(gzip !== undefined && { gzip }),
      });
    }
    return this;
  }

  /** Copy several, each with options of its own; see {@link TemplateBuilder.copy}. */
  copyItems(items: readonly CopyItem[]): this {
    for (const { src, dest, ...options } of items) this.copy(src, dest, options);
    return this;
  }

  /** Remove files; directories with `recursive`. @defaultValue `force` and `recursive` are false */
  remove(path: string | readonly string[], options: UserOption & { readonly force?: boolean; readonly recursive?: boolean } = {}): this {
    return this.#run(removeStep(path, options));
  }

  /** Move a file or directory. @defaultValue `force`, which replaces what is there, is false */
  rename(src: string, dest: string, options: UserOption & { readonly force?: boolean } = {}): this {
    return this.#run(renameStep(src, dest, options));
  }

  /** Make directories and their parents. @defaultValue `mode` is what the umask of the step leaves */
  makeDir(path: string | readonly string[], options: UserOption & { readonly mode?: number } = {}): this {
    return this.#run(makeDirStep(path, options));
  }

  /** Make a symbolic link at `dest` that names `src`. @defaultValue `force`, which replaces what is there, is false */
  makeSymlink(src: string, dest: string, options: UserOption & { readonly force?: boolean } = {}): this {
    return this.#run(makeSymlinkStep(src, dest, options));
  }

  /** Run a shell command; several are one step, where each runs only if those before it succeeded. */
  runCmd(command: string | readonly string[], options: UserOption = {}): this {
    const joined = typeof command === "string" ? command : command.join(" && ");
    if (joined.trim() === "") throw new InvalidArgumentError("runCmd needs a command");
    return this.#run({ command: joined, user: options.user });
  }

  /** Directory of the later steps, and of the commands of every sandbox. */
  setWorkdir(workdir: string): this {
    if (workdir === "") throw new InvalidArgumentError("setWorkdir needs a path");
    return this.#add("WORKDIR", [workdir]);
  }

  /** User of the later steps, and of the commands of every sandbox. */
  setUser(user: string): this {
    if (user === "") throw new InvalidArgumentError("setUser needs a name");
    return this.#add("USER", [user]);
  }

  /** Variables of the later steps and of every sandbox; `undefined` values are left out. */
  setEnvs(envs: Readonly<Record<string, string | undefined>>): this {
    const args = Object.entries(envs).flatMap(([name, value]) => (value === undefined ? [] : [name, value]));
    return args.length === 0 ? this : this.#add("ENV", args);
  }

  /**
   * Named commands of every sandbox, for `sandbox.run`; a later call replaces them.
   *
   * @throws {@link InvalidArgumentError} one of them cannot be run as it is written.
   */
  setCustomCommands(commands: Readonly<Record<string, CustomCommandSpec>>): this {
    return this.#run(customCommandsStep(commands));
  }

  /** Install Python packages; without any, the project in the working directory. */
  pipInstall(packages?: string | readonly string[], options: { readonly g?: boolean } = {}): this {
    return this.#run(pipInstallStep(packages, options));
  }

  /** Install packages with npm, for all users with `g`; without any, the project in the working directory. */
  npmInstall(packages?: string | readonly string[], options: { readonly g?: boolean; readonly dev?: boolean } = {}): this {
    return this.#run(npmInstallStep(packages, options));
  }

  /** Install packages with bun, for all users with `g`; without any, the project in the working directory. */
  bunInstall(packages?: string | readonly string[], options: { readonly g?: boolean; readonly dev?: boolean } = {}): this {
    return this.#run(bunInstallStep(packages, options));
  }

  /** Install packages of Debian or Ubuntu, as root. */
  aptInstall(
    packages: string | readonly string[],
    options: { readonly noInstallRecommends?: boolean; readonly fixMissing?: boolean } = {},
  ): this {
    return this.#run(aptInstallStep(packages, options));
  }

  /** Clone a repository, which needs git in the template. @defaultValue `path` is what git makes of the address; `depth` is everything */
  gitClone(url: string, path?: string, options: UserOption & { readonly branch?: string; readonly depth?: number } = {}): this {
    return this.#run(gitCloneStep(url, path, options));
  }

  /** Add MCP servers to a template that begins with `mcp-gateway`. @throws {@link TemplateError} it does not. */
  addMcpServer(servers: string | readonly string[]): this {
    this.#assertTemplate(MCP_TEMPLATE, "addMcpServer");
    const names = typeof servers === "string" ? [servers] : servers;
    return this.#run({ command: quoteShellCommand(["mcp-gateway", "pull", ...names]), user: "root" });
  }

  /** Build the development container of a directory ahead. @throws {@link TemplateError} the template does not begin with `devcontainer`. */
  betaDevContainerPrebuild(devcontainerDirectory: string): this {
    this.#assertTemplate(DEVCONTAINER_TEMPLATE, "betaDevContainerPrebuild");
    return this.#run({ command: quoteShellCommand(["devcontainer", "build", "--workspace-folder", devcontainerDirectory]), user: "root" });
  }

  /** Start the development container of a directory. @throws {@link TemplateError} the template does not begin with `devcontainer`. */
  betaSetDevContainerStart(devcontainerDirectory: string): FinishedTemplate {
    this.#assertTemplate(DEVCONTAINER_TEMPLATE, "betaSetDevContainerStart");
    const words = ["devcontainer", "up", "--workspace-folder", devcontainerDirectory];
    return this.setStartCmd(
      `sudo ${quoteShellCommand(words)} && touch /tmp/devcontainer.up`,
      new ReadyCommand("[ -f /tmp/devcontainer.up ]"),
    );
  }

  /** Do the later steps anew; before the first step, also the base. */
  skipCache(): this {
    this.#isForced = true;
    if (this.#steps.length === 0) this.#isForcedWhole = true;
    return this;
  }

  /** Decide what runs in every sandbox from its start on, and when it is ready. */
  setStartCmd(startCommand: string, readyCommand?: string | ReadyCommand): FinishedTemplate {
    if (startCommand.trim() === "") throw new InvalidArgumentError("setStartCmd needs a command");
    this.#startCommand = startCommand;
    if (readyCommand !== undefined) this.setReadyCmd(readyCommand);
    return this;
  }

  /** Decide when the template is ready. */
  setReadyCmd(readyCommand: string | ReadyCommand): FinishedTemplate {
    this.#readyCommand = readyCommand instanceof ReadyCommand ? readyCommand.getCmd() : readyCommand;
    return this;
  }

  #from(image: string, registry: RegistryConfig | undefined): this {
    if (!image) throw new InvalidArgumentError("fromImage needs the name of an image");
    this.#source = { fromImage: image, ...(registry !== undefined && { fromImageRegistry: registry }) };
    return this;
  }

  #run({ command, user }: ShellStep): this {
    return this.#add("RUN", user === undefined ? [command] : [command, user]);
  }

  #add(type: TemplateStep["type"], args: readonly string[], copy?: TemplateStep["copy"]): this {
    const stack = new Error().stack;
    this.#steps.push({ type, args, force: this.#isForced, stack, ...(copy !== undefined && { copy }) });
    return this;
  }

  #assertTemplate(template: string, method: string): void {
    if (!("fromTemplate" in this.#source) || this.#source.fromTemplate.split(":")[0] !== template) {
      throw new TemplateError(`${method} needs a template that begins with fromTemplate("${template}")`, undefined, "invalid_argument");
    }
  }
}

function assertInContext(source: string): void {
  const isOutside = source === "" || source.startsWith("/") || /^[A-Za-z]:[\\/]/.test(source) || source.split(/[\\/]/).includes("..");
  if (isOutside) {
    throw new TemplateError(
      `the source ${JSON.stringify(source)} must be a path inside the context directory`,
      undefined,
      "invalid_argument",
    );
  }
}
