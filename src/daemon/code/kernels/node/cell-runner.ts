import { writeSync } from "node:fs";
import type { Runtime } from "node:inspector";
import { Session } from "node:inspector/promises";
import nodeModule from "node:module";
import { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { IMPORT, toReplSource } from "./cell-source.js";
import { type MediaBundle, toMedia } from "./media.js";

/** One line of the commands. */
interface Command {
  readonly cell: number;
  readonly code: string;
  /** Variables for this cell alone. */
  readonly envs: Readonly<Record<string, string>>;
  /** What the variables of the whole sandbox became. */
  readonly sandbox: { readonly set?: Readonly<Record<string, string>>; readonly unset?: readonly string[] };
}

type Report =
  | { readonly type: "ready" | "done"; readonly cell: number }
  | { readonly type: "result" | "display"; readonly cell: number; readonly data: MediaBundle }
  | { readonly type: "exit"; readonly cell: number; readonly status: number }
  | { readonly type: "error"; readonly cell: number; readonly name: string; readonly value: string; readonly traceback: string };

export interface CellOptions {
  readonly isTypeScript: boolean;
  readonly commandsFd: number;
  readonly reportsFd: number;
}

const TAKE = Symbol.for("agent-sandbox.take");
const INTERRUPTED = Symbol("interrupted");

/** Run the cells that come, one after the other, in the global scope of this process. */
export function answerCells({ isTypeScript, commandsFd, reportsFd }: CellOptions, listen: (onInterrupt: () => void) => void): void {
  const report = (line: Report): void => writeWhole(reportsFd, `${JSON.stringify(line)}\n`);
  const session = new Session();
  session.connect();
  let current = 0;
  let interrupt = (): void => {};
  listen(() => interrupt());
  openScope((value) => void toMedia(value).then((data) => report({ type: "display", cell: current, data })));
  // Node cannot end in the middle of an evaluation, so the end is told and then made.
  process.exit = (code) => {
    report({ type: "exit", cell: current, status: Number(code ?? process.exitCode ?? 0) });
    process.kill(process.pid, "SIGKILL");
    throw new Interruption();
  };
  process.on("uncaughtException", (error) => console.error("Uncaught", error));

  const run = async ({ cell, code, envs, sandbox }: Command): Promise<void> => {
    current = cell;
    for (const name of sandbox.unset ?? []) delete process.env[name];
    Object.assign(process.env, sandbox.set);
    const before = Object.keys(envs).map((name) => [name, process.env[name]] as const);
    Object.assign(process.env, envs);
    const interrupted = new Promise<typeof INTERRUPTED>((resolve) => {
      interrupt = () => resolve(INTERRUPTED);
    });
    try {
      const value = await Promise.race([evaluate(session, await toReplSource(code, isTypeScript), cell), interrupted]);
      if (value === INTERRUPTED) throw new Interruption();
      if (value !== undefined) report({ type: "result", cell, data: await toMedia(value) });
    } catch (error) {
      report({ type: "error", cell, ...describe(error) });
    }
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    report({ type: "done", cell });
  };

  let queue = Promise.resolve();
  const commands = createInterface({ input: new Socket({ fd: commandsFd, readable: true, writable: false }) });
  commands.on("line", (line) => {
    queue = queue.then(() => run(JSON.parse(line) as Command)); // the kernel writes nothing else
  });
  commands.on("close", () => process.kill(process.pid, "SIGKILL"));
  report({ type: "ready", cell: 0 });
}

class Interruption extends Error {
  override readonly name = "KeyboardInterrupt";
  constructor() {
    super("the execution was interrupted");
  }
}

/** What cells find in their global scope beside what node has. */
function openScope(display: (value: unknown) => void): void {
  const place = join(process.cwd(), "[cell]");
  const parentURL = pathToFileURL(place).href;
  // Imports of cells are looked up from the working directory; node has this since 22.15.
  nodeModule.registerHooks?.({
    resolve: (specifier, context, next) => next(specifier, context.parentURL === import.meta.url ? { ...context, parentURL } : context),
  });
  const names = {
    [IMPORT]: (specifier: string, options?: ImportCallOptions) => import(specifier, options),
    require: nodeModule.createRequire(place),
    display,
  };
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

async function evaluate(session: Session, code: string, cell: number): Promise<unknown> {
  const objectGroup = "cell";
  try {
    const cellOfRepl = { expression: `${code}\n//# sourceURL=cell-${cell}`, replMode: true, awaitPromise: true, objectGroup };
    let answer = await ask(session, "Runtime.evaluate", cellOfRepl);
    const { objectId, subtype } = answer.result;
    if (answer.exceptionDetails === undefined && subtype === "promise" && objectId !== undefined) {
      answer = await ask(session, "Runtime.awaitPromise", { promiseObjectId: objectId });
    }
    const value = await toValue(session, answer.result);
    if (answer.exceptionDetails === undefined) return value;
    const { lineNumber, columnNumber } = answer.exceptionDetails;
    throw new Thrown(value, `cell-${cell}:${lineNumber + 1}:${columnNumber + 1}`);
  } finally {
    await session.post("Runtime.releaseObjectGroup", { objectGroup }).catch(() => {});
  }
}

/** The types of node know neither the parameter `replMode` nor, in this module, any answer. */
async function ask(session: Session, method: string, parameters: object): Promise<Runtime.EvaluateReturnType> {
  return (await session.post(method, parameters)) as unknown as Runtime.EvaluateReturnType;
}

/** Something that a cell threw, and where. */
class Thrown {
  constructor(
    readonly value: unknown,
    readonly place: string,
  ) {}
}

interface RemoteValue {
  readonly type: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
  readonly description?: string;
  readonly objectId?: string;
}

/** The value itself: an object is handed over by a function that the inspector calls on it. */
async function toValue(session: Session, remote: RemoteValue): Promise<unknown> {
  const { type, objectId, unserializableValue } = remote;
  if (type === "bigint") return BigInt(String(unserializableValue).replace(/n$/, ""));
  if (type === "symbol") return Symbol(/^Symbol\((.*)\)$/s.exec(remote.description ?? "")?.[1]);
  if (objectId === undefined) return unserializableValue === undefined ? remote.value : Number(unserializableValue);
  let taken: unknown;
  const scope = globalThis as { [TAKE]?: (value: unknown) => void };
  scope[TAKE] = (value) => {
    taken = value;
  };
  const functionDeclaration = `function () { globalThis[Symbol.for("${TAKE.description}")](this); }`;
  await session.post("Runtime.callFunctionOn", { objectId, functionDeclaration, silent: true });
  delete scope[TAKE];
  return taken;
}

function describe(error: unknown): { readonly name: string; readonly value: string; readonly traceback: string } {
  const thrown = error instanceof Thrown ? error.value : error;
  if (!(thrown instanceof Error)) {
    const value = typeof thrown === "string" ? thrown : (JSON.stringify(thrown) ?? String(thrown));
    return { name: "Uncaught", value, traceback: `Uncaught ${value}` };
  }
  // `Inspector error`: V8 ended the evaluation.
  if (thrown.message.startsWith("Inspector error")) return describe(new Interruption());
  const frames = (thrown.stack ?? "").split("\n");
  const own = frames.findIndex((line) => line.includes("node:inspector"));
  const shown = own < 0 ? frames : frames.slice(0, own);
  const place = error instanceof Thrown && thrown instanceof SyntaxError ? [`    at ${error.place}`] : [];
  return { name: thrown.name, value: thrown.message, traceback: [...shown, ...place].join("\n") };
}

function writeWhole(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
}
