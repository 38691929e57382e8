import { messageOf } from "../../shared/message-of.js";
import { quoteShellCommand, quoteShellWord } from "../../shared/shell-quote.js";
import { type DockerInstruction, expand, parseDockerfile, parseJsonForm, refuse, splitWords } from "./dockerfile.js";
import type { CopyOptions } from "./template-step.js";

/** The builder methods that an import calls. */
export interface DockerfileTarget {
  fromImage(image: string): unknown;
  runCmd(command: string): unknown;
  copy(src: string, dest: string, options: CopyOptions): unknown;
  setEnvs(envs: Readonly<Record<string, string>>): unknown;
  setWorkdir(path: string): unknown;
  setUser(name: string): unknown;
  setStartCmd(command: string): unknown;
}

/** What they say has no meaning for a sandbox. */
const WITHOUT_EFFECT = ["LABEL", "MAINTAINER", "EXPOSE", "STOPSIGNAL"];
const REMOTE = /^(https?|ftp|git|ssh):\/\/|^git@/i;
const ARCHIVE = /\.(tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz|zst))$/i;

/**
 * Translate a Dockerfile with one stage.
 *
 * Steps run as root in `/`, as in a Dockerfile; where it names no user or directory, sandboxes get `user` and its home.
 *
 * @throws {@link InvalidArgumentError} an instruction or a form that a template cannot express; the message names the line.
 */
export function importDockerfile(content: string, target: DockerfileTarget, buildArgs: Readonly<Record<string, string>>): void {
  const instructions = parseDockerfile(content);
  const from = instructions.findIndex(({ name }) => name === "FROM");
  if (from < 0) throw refuse(1, "there is no FROM");
  const second = instructions.slice(from + 1).find(({ name }) => name === "FROM");
  if (second !== undefined)
    throw refuse(second.line, "more than one stage (FROM) is not supported; build the stages as templates of their own");
  const globals = new Map<string, string>();
  for (const { name, text, line } of instructions.slice(0, from)) {
    if (name !== "ARG") throw refuse(line, `${name} stands before FROM`);
    for (const [arg, value] of parseArgs(text, globals, buildArgs)) globals.set(arg, value ?? "");
  }
  const importer = new Importer(target, buildArgs, globals);
  for (const instruction of instructions.slice(from)) importer.add(instruction);
  importer.finish();
}

class Importer {
  readonly #target: DockerfileTarget;
  readonly #buildArgs: Readonly<Record<string, string>>;
  readonly #globals: ReadonlyMap<string, string>;
  readonly #args = new Map<string, string>();
  readonly #envs = new Map<string, string>();
  #hasUser = false;
  #hasWorkdir = false;
  #entrypoint: DockerInstruction | undefined;
  #command: DockerInstruction | undefined;

  constructor(target: DockerfileTarget, buildArgs: Readonly<Record<string, string>>, globals: ReadonlyMap<string, string>) {
    this.#target = target;
    this.#buildArgs = buildArgs;
    this.#globals = globals;
  }

  add(instruction: DockerInstruction): void {
    const { name, text, line } = instruction;
    if (text === "") throw refuse(line, `${name} needs arguments`);
    switch (name) {
      case "FROM":
        this.#from(instruction);
        return;
      case "ARG":
        for (const [arg, value] of parseArgs(text, this.#variables(), this.#buildArgs)) {
          const known = value ?? this.#globals.get(arg);
          if (known !== undefined) this.#args.set(arg, known);
        }
        return;
      case "ENV":
        this.#env(instruction);
        return;
      case "RUN":
        this.#run(instruction);
        return;
      case "COPY":
      case "ADD":
        this.#copy(instruction);
        return;
      case "WORKDIR":
        this.#hasWorkdir = true;
        this.#target.setWorkdir(this.#expand(text));
        return;
      case "USER":
        this.#hasUser = true;
        this.#target.setUser(this.#expand(text));
        return;
      case "CMD":
        this.#command = instruction;
        return;
      case "ENTRYPOINT":
        this.#entrypoint = instruction;
        return;
      default:
        if (!WITHOUT_EFFECT.includes(name)) throw refuse(line, `${name} is not supported in a template`);
    }
  }

  finish(): void {
    if (!this.#hasUser) this.#target.setUser("user");
    if (!this.#hasWorkdir) this.#target.setWorkdir("/home/user");
    const command = this.#startCommand();
    if (command !== undefined) this.#target.setStartCmd(command);
  }

  #from({ text, line }: DockerInstruction): void {
    const words = splitWords(text).filter((word) => !word.startsWith("--platform="));
    const flag = words.find((word) => word.startsWith("--"));
    if (flag !== undefined) throw refuse(line, `FROM ${flag} is not supported`);
    const image = expand(words[0] ?? "", this.#globals);
    if (image === "" || image === "scratch") throw refuse(line, "FROM needs an image that is not empty");
    this.#target.fromImage(image);
    this.#target.setUser("root");
    this.#target.setWorkdir("/");
  }

  #env({ text, line }: DockerInstruction): void {
    const variables = this.#variables();
    const words = splitWords(text);
    const [first = ""] = words;
    const envs: Record<string, string> = {};
    if (first.includes("=")) {
      for (const word of words) {
        const at = word.indexOf("=");
        if (at < 1) throw refuse(line, `ENV ${word} is no pair of a name and a value`);
        envs[word.slice(0, at)] = expand(word.slice(at + 1), variables);
      }
    } else {
      const value = text.slice(first.length).trim();
      if (value === "") throw refuse(line, `ENV ${first} has no value`);
      envs[first] = expand(value, variables);
    }
    for (const [name, value] of Object.entries(envs)) this.#envs.set(name, value);
    this.#target.setEnvs(envs);
  }

  #run({ text, heredoc, line }: DockerInstruction): void {
    const flag = /^--(\w+)/.exec(text);
    if (flag !== null) throw refuse(line, `RUN --${flag[1]} is not supported`);
    const words = parseJsonForm(text);
    this.#target.runCmd(this.#argExports() + (words === undefined ? toShell(text, heredoc, line) : quoteShellCommand(words)));
  }

  /** Arguments are variables of RUN, but not of the sandbox. */
  #argExports(): string {
    const args = [...this.#args].filter(([name]) => !this.#envs.has(name));
    return args.length === 0 ? "" : `export ${args.map(([name, value]) => `${name}=${quoteShellWord(value)}`).join(" ")}\n`;
  }

  #copy({ name, text, heredoc, line }: DockerInstruction): void {
    if (heredoc !== undefined) throw refuse(line, `${name} of a here-document is not supported; write the file with RUN`);
    const options: { user?: string; mode?: number } = {};
    let rest = text;
    for (let match = /^--([a-z-]+)(?:=(\S+))?\s+/.exec(rest); match !== null; match = /^--([a-z-]+)(?:=(\S+))?\s+/.exec(rest)) {
      const value = this.#expand(match[2] ?? "");
      if (match[1] === "chown" && value !== "") options.user = value;
      else if (match[1] === "chmod" && /^[0-7]{3,4}$/.test(value)) options.mode = Number.parseInt(value, 8);
      else if (match[1] !== "link")
        throw refuse(line, `${name} --${match[1]}${match[2] === undefined ? "" : `=${match[2]}`} is not supported`);
      rest = rest.slice(match[0].length);
    }
    const words = parseJsonForm(rest) ?? splitWords(rest);
    const paths = words.map((word) => this.#expand(word));
    const dest = paths.pop();
    if (dest === undefined || paths.length === 0) throw refuse(line, `${name} needs a source and a destination`);
    if (paths.length > 1 && !dest.endsWith("/")) throw refuse(line, `${name} of several sources needs a destination that ends with "/"`);
    for (const path of paths) {
      if (REMOTE.test(path)) throw refuse(line, `${name} of a URL is not supported; download it with RUN curl`);
      if (name === "ADD" && ARCHIVE.test(path))
        throw refuse(line, "ADD of an archive, which unpacks it, is not supported; use COPY and RUN tar");
    }
    // A leading slash means the context directory, as everything in a Dockerfile does.
    for (const path of paths) {
      try {
        this.#target.copy(path.replace(/^\/+/, "") || ".", dest, options);
      } catch (error) {
        throw refuse(line, messageOf(error));
      }
    }
  }

  /** As Docker combines the two: CMD holds arguments of an ENTRYPOINT in JSON form, and is not looked at beside one in shell form. */
  #startCommand(): string | undefined {
    const entrypoint = this.#entrypoint;
    const command = this.#command;
    const words = (instruction: DockerInstruction | undefined) => (instruction === undefined ? undefined : parseJsonForm(instruction.text));
    if (entrypoint === undefined) {
      if (command === undefined) return undefined;
      const list = words(command);
      return list === undefined ? command.text : list.length === 0 ? undefined : quoteShellCommand(list);
    }
    const list = words(entrypoint);
    if (list === undefined) return entrypoint.text;
    const all = [...list, ...(words(command) ?? (command === undefined ? [] : ["/bin/sh", "-c", command.text]))];
    return all.length === 0 ? undefined : quoteShellCommand(all);
  }

  #expand(text: string): string {
    return expand(text, this.#variables());
  }

  #variables(): ReadonlyMap<string, string> {
    return new Map([...this.#args, ...this.#envs]);
  }
}

function toShell(text: string, heredoc: string | undefined, line: number): string {
  if (heredoc === undefined) return text;
  if (!/^<<-?(["']?)[A-Za-z_]\w*\1$/.test(text)) throw refuse(line, "RUN with a here-document as input of a command is not supported");
  const isScript = heredoc.startsWith("#!");
  return isScript
    ? `script=$(mktemp) && printf %s ${quoteShellWord(heredoc)} > "$script" && chmod 700 "$script" && "$script" && rm "$script"`
    : `set -e\n${heredoc}`;
}

function parseArgs(
  text: string,
  variables: ReadonlyMap<string, string>,
  buildArgs: Readonly<Record<string, string>>,
): [string, string | undefined][] {
  return splitWords(text).map((word) => {
    const at = word.indexOf("=");
    const name = at < 0 ? word : word.slice(0, at);
    const given = Object.hasOwn(buildArgs, name) ? buildArgs[name] : undefined;
    return [name, given ?? (at < 0 ? undefined : expand(word.slice(at + 1), variables))];
  });
}
