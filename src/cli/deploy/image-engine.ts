import { spawn } from "node:child_process";
import { FailedPreconditionError } from "../../index.js";
import { ENGINE_NAMES, type EngineName, engineAnswers } from "../../shared/container-engines-node.js";

/** A command of an engine; `input` goes to its standard input and is never printed. */
export interface EngineCommand {
  readonly argv: readonly [EngineName, ...string[]];
  readonly input?: string;
}

/** What is built. */
export interface ImageBuild {
  readonly image: string;
  readonly context: string;
  readonly dockerfile: string;
  readonly platform: string;
  readonly buildArgs: Readonly<Record<string, string>>;
}

/** The engine that was asked for, else the first one that answers. @throws {@link FailedPreconditionError} there is none. */
export async function findEngine(wanted: EngineName | undefined): Promise<EngineName> {
  for (const name of wanted === undefined ? ENGINE_NAMES : [wanted]) {
    if (await engineAnswers(name)) return name;
  }
  throw new FailedPreconditionError(
    wanted === undefined ? "building an image needs podman, buildah or docker; none of them answers" : `${wanted} does not answer`,
  );
}

export function toBuildCommand(engine: EngineName, { image, context, dockerfile, platform, buildArgs }: ImageBuild): EngineCommand {
  const args = Object.entries(buildArgs).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  return { argv: [engine, "build", "--platform", platform, "--tag", image, "--file", dockerfile, ...args, context] };
}

export function toLoginCommand(engine: EngineName, registry: string, username: string, password: string): EngineCommand {
  return { argv: [engine, "login", ...tlsFlags(engine, registry), "--username", username, "--password-stdin", registry], input: password };
}

export function toPushCommand(engine: EngineName, image: string): EngineCommand {
  return { argv: [engine, "push", ...tlsFlags(engine, registryOf(image)), image] };
}

/** Host of the registry in an image's address. */
export function registryOf(image: string): string {
  return image.split("/")[0] ?? image;
}

/** Run a command; what it says goes to stderr, and an abort ends it. @throws {@link FailedPreconditionError} it failed. */
export async function runEngine({ argv, input }: EngineCommand, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const [program, ...args] = argv;
  const child = spawn(program, args, { stdio: ["pipe", process.stderr, process.stderr] });
  // A program that does not read its input may be gone before it is written.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input ?? "");
  // Of a signal to this process alone the engine knows nothing, and would go on to push.
  const end = (): void => void child.kill();
  signal.addEventListener("abort", end);
  const status = await new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signalName) => resolve(code ?? signalName ?? "unknown"));
  }).finally(() => signal.removeEventListener("abort", end));
  signal.throwIfAborted();
  if (status !== 0) throw new FailedPreconditionError(`${program} ${args[0] ?? ""} ended with ${status}; what it said is above`);
}

/** docker takes a registry on this machine without TLS by itself, the others have to be told. */
function tlsFlags(engine: EngineName, registry: string): string[] {
  return engine !== "docker" && /^(localhost|127\.[\d.]+|\[::1\])(:\d+)?$/.test(registry) ? ["--tls-verify=false"] : [];
}
