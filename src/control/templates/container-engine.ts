import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import { ENGINE_NAMES, type EngineName, engineAnswers } from "../../shared/container-engines-node.js";
import { messageOf } from "../../shared/message-of.js";
import type { IdRange } from "../drivers/oci/id-range.js";
import type { LayerStore } from "./layer-store.js";
import { shiftOwnership } from "./shift-ownership.js";

/** Name and password for the registry of an image. */
export interface RegistryLogin {
  readonly username: string;
  readonly password: string;
}

/** An image as a layer. */
export interface EngineImage {
  readonly key: string;
  readonly layer: string;
  readonly envs: Readonly<Record<string, string>>;
}

const SYSTEM_DIRECTORIES = ["/usr/local/bin", "/usr/bin", "/bin"];
const MAX_OUTPUT = 16 * 1024 * 1024;

const run = promisify(execFile);

/** A container engine of this machine that holds or pulls images. Nothing is ever run with it. */
export class ContainerEngine {
  readonly name: EngineName;
  readonly #command: string;

  private constructor(name: EngineName, command: string) {
    this.name = name;
    this.#command = command;
  }

  /** The first engine that is installed and answers; `undefined` when there is none. */
  static async find(searchPath: string = process.env.PATH ?? ""): Promise<ContainerEngine | undefined> {
    const directories = [...searchPath.split(delimiter).filter((directory) => directory !== ""), ...SYSTEM_DIRECTORIES];
    for (const name of ENGINE_NAMES) {
      const command = directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
      if (command !== undefined && (await engineAnswers(name, command))) return new ContainerEngine(name, command);
    }
    return undefined;
  }

  /** True when the image is on this machine. */
  async has(image: string): Promise<boolean> {
    return this.#call(["inspect", "--type", "image", image]).then(
      () => true,
      () => false,
    );
  }

  /** @throws {@link FailedPreconditionError} the registry did not give it; the message says why, without the password. */
  async pull(image: string, login: RegistryLogin | undefined, signal: AbortSignal): Promise<void> {
    const registry = image.includes("/") && /[.:]|^localhost$/.test(image.split("/")[0] ?? "") ? String(image.split("/")[0]) : "docker.io";
    try {
      if (login !== undefined) await this.#login(registry, login, signal);
      await this.#call(["pull", image], signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new FailedPreconditionError(`${this.name} could not get the image ${image}: ${lastLines(error)}`);
    }
  }

  /** Unpack an image into a layer, or take the one that was unpacked before. */
  async unpack(image: string, layers: LayerStore, idRange: IdRange, signal: AbortSignal): Promise<EngineImage> {
    const { id, envs } = await this.#inspect(image);
    const key = `image-${id}-${idRange.base}`;
    const cached = layers.find(key);
    if (cached?.layer !== undefined) return { key, layer: cached.layer, envs };
    const staged = layers.stage();
    mkdirSync(staged, { mode: 0o700 });
    try {
      await this.#export(image, staged, signal);
      shiftOwnership(staged, idRange);
      chmodSync(staged, 0o755);
      return { key, layer: String(layers.keep(key, staged).layer), envs };
    } finally {
      rmSync(staged, { recursive: true, force: true });
    }
  }

  async #inspect(image: string): Promise<{ readonly id: string; readonly envs: Readonly<Record<string, string>> }> {
    const answer: unknown = JSON.parse(await this.#call(["inspect", "--type", "image", image]));
    const facts = (Array.isArray(answer) ? answer[0] : answer) as EngineFacts;
    const id = facts.Id ?? facts.FromImageID;
    const config = facts.Config?.Env ?? facts.OCIv1?.config?.Env ?? [];
    if (!id) throw new InvalidArgumentError(`${this.name} does not tell the id of the image ${image}`);
    const pairs = config.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
    return { id: id.replace(/^sha256:/, ""), envs: Object.fromEntries(pairs.filter(([name]) => name !== "")) };
  }

  async #export(image: string, target: string, signal: AbortSignal): Promise<void> {
    if (this.name === "buildah") {
      const container = (await this.#call(["from", "--name", `abx-${randomUUID()}`, image], signal)).trim();
      try {
        const mounted = (await this.#call(["mount", container], signal)).trim();
        await unpackInto(["tar", "-C", mounted, "--one-file-system", "-cf", "-", "."], target, signal);
      } finally {
        await this.#call(["rm", container]).catch(() => undefined);
      }
      return;
    }
    // The command is never run; an image without one needs it.
    const limits = this.name === "podman" ? ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"] : [];
    const container = (await this.#call(["create", ...limits, image, "/bin/true"], signal)).trim().split("\n").at(-1) ?? "";
    try {
      await unpackInto([this.#command, "export", container], target, signal);
    } finally {
      await this.#call(["rm", "-f", container]).catch(() => undefined);
    }
  }

  async #login(registry: string, { username, password }: RegistryLogin, signal: AbortSignal): Promise<void> {
    const child = spawn(this.#command, ["login", "--username", username, "--password-stdin", registry], {
      stdio: ["pipe", "ignore", "pipe"],
      signal,
    });
    const complaint = collect(child.stderr);
    child.stdin.on("error", () => undefined);
    child.stdin.end(password);
    const code = await exitOf(child);
    if (code !== 0) throw new Error(`the registry ${registry} refused the login: ${(await complaint).trim()}`);
  }

  async #call(args: readonly string[], signal?: AbortSignal): Promise<string> {
    const { stdout } = await run(this.#command, [...args], { maxBuffer: MAX_OUTPUT, ...(signal !== undefined && { signal }) });
    return stdout;
  }
}

interface EngineFacts {
  readonly Id?: string;
  readonly FromImageID?: string;
  readonly Config?: { readonly Env?: readonly string[] | null } | null;
  readonly OCIv1?: { readonly config?: { readonly Env?: readonly string[] } };
}

/** A pipe of the shell's: engines open /dev/stdout by name, which fails on the sockets that Node makes. Both ends die with the shell. */
const UNPACK = `set -o pipefail
target=$1
shift
setpriv --pdeathsig KILL "$@" | setpriv --pdeathsig KILL tar --extract --file - --directory "$target" --numeric-owner \\
  --preserve-permissions --exclude='./dev/*' --exclude='dev/*'`;

/**
 * Unpack a tar stream. GNU tar makes links that lead out of the tree last, so no entry is written through one; device files are of no use in
 * a sandbox.
 */
async function unpackInto(source: readonly string[], target: string, signal: AbortSignal): Promise<void> {
  const child = spawn("bash", ["-c", UNPACK, "unpack", target, ...source], {
    stdio: ["ignore", "ignore", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  const complaint = collect(child.stderr);
  const code = await exitOf(child);
  signal.throwIfAborted();
  if (code !== 0) throw new FailedPreconditionError(`the image could not be unpacked: ${(await complaint).trim().slice(-1_000)}`);
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
}

async function collect(stream: NodeJS.ReadableStream): Promise<string> {
  let text = "";
  try {
    for await (const chunk of stream) text = (text + String(chunk)).slice(-4_000);
  } catch {
    // What came counts.
  }
  return text;
}

function lastLines(error: unknown): string {
  const text = (error as { readonly stderr?: string }).stderr ?? messageOf(error);
  return text.trim().split("\n").slice(-3).join(" ");
}
