import { InvalidArgumentError } from "../errors/error-classes.js";
import {
  type ArgumentSpec,
  type ArgumentSpecs,
  type ArgumentValue,
  type CommandArgument,
  toCommandArguments,
} from "./command-arguments.js";
import { quoteShellWord } from "./shell-quote.js";

/** A command of `custom_commands` in template.yaml: any program, with placeholders for the values of its arguments. */
export interface CustomCommand {
  readonly name: string;
  /** A line for bash; `{name}` stands for the value of an argument. */
  readonly cmd: string;
  readonly description: string;
  /** `undefined`: `/app` where it exists, else the directory of the template. */
  readonly cwd: string | undefined;
  /** Milliseconds until it is killed. */
  readonly timeoutMs: number;
  readonly envs: Readonly<Record<string, string>>;
  readonly args: readonly CommandArgument[];
}

/** A custom command as template.yaml has it. */
export interface CustomCommandSpec {
  /** A line for bash; `{name}` stands for the value of an argument, which is one word, whatever is in it. */
  readonly cmd: string;
  readonly description?: string;
  /** Working directory. @defaultValue `/app` where it exists, else the directory of the template */
  readonly cwd?: string;
  /** Seconds until it is killed. @defaultValue 60 */
  readonly timeout?: number;
  readonly env?: Readonly<Record<string, string | number | boolean>>;
  /** Arguments; not required unless they say so, and of type `string` unless they say otherwise. @defaultValue none */
  readonly args?: readonly (Partial<ArgumentSpec> & { readonly name: string })[];
}

/** Where a build writes `custom_commands`, as JSON under that name, for whoever runs them. */
export const CUSTOM_COMMANDS_FILE = "/etc/agent-sandbox/commands.json";

/** What names of commands look like. */
export const COMMAND_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;

const FIELDS = ["cmd", "command", "description", "cwd", "timeout", "env", "args"];
const DEFAULT_TIMEOUT_SECONDS = 60;
const MAX_TIMEOUT_SECONDS = 86_400;
const PLACEHOLDER = /^\{([A-Za-z_][A-Za-z0-9_]*)\}/;

/**
 * Read `custom_commands`.
 *
 * @throws {@link InvalidArgumentError} a command cannot be run as it is written; `where` begins the message.
 */
export function parseCustomCommands(value: unknown, where: string): readonly CustomCommand[] {
  if (value === undefined || value === null) return [];
  return Object.entries(toFields(value, `${where}: custom_commands`)).map(([name, found]) => {
    const at = `${where}: custom_commands.${name}`;
    if (!COMMAND_NAME.test(name)) throw new InvalidArgumentError(`${at}: a name has letters, digits, _ . and -, at most 128`);
    return parseCommand(name, toFields(found, at), at);
  });
}

/**
 * The line that runs a command with these values.
 *
 * The values become positional parameters of the shell, each as one quoted word, and placeholders refer to those: no value is ever read as a
 * part of the command, whatever it holds.
 *
 * @throws {@link InvalidArgumentError} a value holds NUL.
 */
export function toShellLine(command: CustomCommand, values: Readonly<Record<string, ArgumentValue>>): string {
  const present = command.args.filter(({ name }) => Object.hasOwn(values, name));
  const words = present.map(({ name }) => {
    const text = String(values[name]);
    if (text.includes("\0")) throw new InvalidArgumentError(`command '${command.name}': argument '${name}' holds a NUL character`);
    return quoteShellWord(text);
  });
  const positions = new Map(present.map(({ name }, index) => [name, index + 1]));
  const line = splitLine(command.cmd)
    .map((part) => {
      if (part.placeholder === undefined || !command.args.some(({ name }) => name === part.placeholder)) return part.text;
      const position = positions.get(part.placeholder);
      return position === undefined ? "" : `"\${${position}}"`;
    })
    .join("");
  const enter = command.cwd === undefined ? "[ ! -d /app ] || cd /app\n" : "";
  return `${enter}set -- ${words.join(" ")}\n${line}`;
}

function parseCommand(name: string, fields: Readonly<Record<string, unknown>>, at: string): CustomCommand {
  const refuse = (problem: string): never => {
    throw new InvalidArgumentError(`${at}: ${problem}`);
  };
  for (const field of Object.keys(fields)) if (!FIELDS.includes(field)) refuse(`unknown field ${field}`);
  const text = (field: string): string | undefined => {
    const found = fields[field] ?? undefined;
    if (found !== undefined && (typeof found !== "string" || found.includes("\0"))) return refuse(`${field} must be a text`);
    return found || undefined;
  };
  const cmd = text("cmd") ?? text("command") ?? refuse("cmd is required");
  const timeout = fields.timeout ?? DEFAULT_TIMEOUT_SECONDS;
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= MAX_TIMEOUT_SECONDS)) {
    return refuse(`timeout must be a number of seconds above 0, at most ${MAX_TIMEOUT_SECONDS}`);
  }
  const args = toCommandArguments(toArgumentSpecs(fields.args, at), at);
  assertPlaceholders(cmd, args, refuse);
  return {
    name,
    cmd,
    description: text("description") ?? "",
    cwd: text("cwd"),
    timeoutMs: timeout * 1000,
    envs: toEnvs(fields.env, refuse, at),
    args,
  };
}

/** In template.yaml arguments are a list, and not required unless they say so. */
function toArgumentSpecs(value: unknown, at: string): ArgumentSpecs {
  if (value === undefined || value === null) return {};
  if (!Array.isArray(value)) throw new InvalidArgumentError(`${at}: args must be a list`);
  return Object.fromEntries(
    value.map((entry: unknown, index) => {
      const { name, type = "string", required = false, default: preset, description } = toFields(entry, `${at}: args[${index}]`);
      if (typeof name !== "string") throw new InvalidArgumentError(`${at}: args[${index}] has no name`);
      return [name, { type, required, default: preset, description: description ?? "" }];
    }),
  ) as ArgumentSpecs; // toCommandArguments looks at every field
}

function toEnvs(value: unknown, refuse: (problem: string) => never, at: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  return Object.fromEntries(
    Object.entries(toFields(value, `${at}: env`)).map(([name, found]) => {
      const isPlain = typeof found === "string" || typeof found === "number" || typeof found === "boolean";
      return [name, isPlain ? String(found) : refuse(`env.${name} must be a text or a number`)];
    }),
  );
}

function toFields(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new InvalidArgumentError(`${at} must hold fields`);
  return value as Readonly<Record<string, unknown>>; // just checked
}

function assertPlaceholders(cmd: string, args: readonly CommandArgument[], refuse: (problem: string) => never): void {
  for (const { placeholder, isQuoted } of splitLine(cmd)) {
    if (placeholder === undefined) continue;
    const isArgument = args.some(({ name }) => name === placeholder);
    if (isArgument && isQuoted) refuse(`the placeholder {${placeholder}} stands in quotes; values are quoted already, so write it without`);
    if (!isArgument && !isQuoted) refuse(`the placeholder {${placeholder}} is no argument; list it in args`);
  }
}

/** A stretch of a line: plain text, or one placeholder. */
interface LinePart {
  readonly text: string;
  readonly placeholder?: string;
  readonly isQuoted?: boolean;
}

/** Take a line apart at its placeholders. `${name}` is a variable of the shell and none of them. */
function splitLine(cmd: string): LinePart[] {
  const parts: LinePart[] = [];
  let text = "";
  let quote = "";
  for (let index = 0; index < cmd.length; ) {
    const character = cmd.charAt(index);
    const placeholder = character === "{" && cmd.charAt(index - 1) !== "$" ? PLACEHOLDER.exec(cmd.slice(index)) : null;
    if (placeholder !== null) {
      parts.push({ text }, { text: placeholder[0], placeholder: placeholder[1] ?? "", isQuoted: quote !== "" });
      text = "";
      index += placeholder[0].length;
      continue;
    }
    if (character === "\\" && quote !== "'") {
      text += cmd.slice(index, index + 2);
      index += 2;
      continue;
    }
    if (quote === "" ? /['"`]/.test(character) : character === quote) quote = quote === "" ? character : "";
    text += character;
    index += 1;
  }
  return [...parts, { text }];
}
