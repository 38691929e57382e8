import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../errors/error-classes.js";
import { quoteShellWord } from "../shared/shell-quote.js";
import { assertText } from "../shared/text-check.js";
import { PYTHON_RUNNER } from "./python-runner.js";
import { type RemoteFunction, toRemoteFunction } from "./remote-function.js";
import { type RemoteOptions, toSettings } from "./remote-options.js";
import { PROGRAMS_DIR, type RemoteProgram } from "./remote-program.js";
import { RemoteRunner } from "./remote-runner.js";

/** A module of Python whose functions are called in a sandbox. */
export interface PythonModule extends AsyncDisposable {
  /**
   * Call a function of the module with data as its arguments; a coroutine is awaited. What the function raises is thrown as an error of the
   * same name with the traceback as its stack.
   */
  call<Result = unknown>(name: string, ...args: readonly unknown[]): Promise<Result>;
  /** A function of the module, which then has `map` and `with` too. Its types are the caller's word. */
  function<Args extends readonly unknown[], Result>(name: string): RemoteFunction<Args, Result>;
  /** Kill the sandboxes that `keepAlive` keeps. */
  close(): Promise<void>;
}

/** A tag for templates that hold a module of Python. */
export type PythonTag = (source: TemplateStringsArray, ...values: readonly never[]) => PythonModule;

/**
 * A module of Python, as a template:
 *
 * ```ts
 * const math = python`
 *   def add(a, b):
 *       return a + b
 * `;
 * await math.call<number>("add", 1, 2);
 * ```
 *
 * Indentation that all lines have is taken away, and a backslash means what it means in Python. `python(options)` gives a tag with options;
 * `packages` are installed by pip.
 *
 * @throws {@link InvalidArgumentError} the template holds a value: data is passed as an argument and never becomes code.
 */
export function python(options: RemoteOptions): PythonTag;
export function python(source: TemplateStringsArray, ...values: readonly never[]): PythonModule;
export function python(first: RemoteOptions | TemplateStringsArray, ...values: readonly unknown[]): PythonModule | PythonTag {
  if ("raw" in first) return toModule(first, values, {});
  return (source, ...inner) => toModule(source, inner, first);
}

function toModule({ raw }: TemplateStringsArray, values: readonly unknown[], options: RemoteOptions): PythonModule {
  if (values.length > 0) throw new InvalidArgumentError("a template of Python holds no values: pass them as arguments of its functions");
  const settings = toSettings(options);
  const program = toProgram(dedent(raw.join("")), settings.packages);
  const runner = new RemoteRunner(settings, async () => program);
  return {
    call: <Result>(name: string, ...args: readonly unknown[]) => runner.call(checkName(name), args) as Promise<Result>,
    function: <Args extends readonly unknown[], Result>(name: string) => toRemoteFunction<Args, Result>(runner, checkName(name)),
    close: () => runner.close(),
    [Symbol.asyncDispose]: () => runner.close(),
  };
}

function toProgram(source: string, packages: readonly string[]): RemoteProgram {
  assertText("the source of the module", source);
  const key = createHash("sha256")
    .update(JSON.stringify([source, PYTHON_RUNNER, packages]))
    .digest("hex")
    .slice(0, 16);
  const directory = `${PROGRAMS_DIR}/${key}`;
  const words = packages.map(quoteShellWord).join(" ");
  return {
    directory,
    files: [
      { path: `${directory}/run.py`, data: PYTHON_RUNNER },
      { path: `${directory}/module.py`, data: source },
    ],
    install: packages.length === 0 ? undefined : `python3 -m pip install --quiet --disable-pip-version-check --target packages ${words}`,
    toCommand: ({ functionName, argumentsPath, resultPath }) =>
      `exec python3 ~/${directory}/run.py ~/${directory}/module.py ${quoteShellWord(functionName)} ~/${argumentsPath} ~/${resultPath}`,
  };
}

function checkName(name: string): string {
  if (typeof name === "string" && /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)) return name;
  throw new InvalidArgumentError(`the name of a function of Python is expected, not ${JSON.stringify(name)}`);
}

function dedent(source: string): string {
  const indents = source.split("\n").flatMap((line) => (line.trim() === "" ? [] : [/^[ \t]*/.exec(line)?.[0] ?? ""]));
  const [first = ""] = indents;
  let shared = first;
  while (!indents.every((indent) => indent.startsWith(shared))) shared = shared.slice(0, -1);
  return source.replaceAll(new RegExp(`^${shared}`, "gm"), "");
}
