import type { Sandbox } from "../sandbox/sandbox.js";
import { untilAborted } from "../shared/until-aborted.js";
import { mapConcurrently } from "./map-concurrently.js";
import { callInSandbox, type RemoteCall } from "./remote-call.js";
import { INSTALL_TIMEOUT_MS, type RemoteCallOptions, type RemoteMapOptions, type RemoteSettings, toConcurrency } from "./remote-options.js";
import type { RemoteProgram } from "./remote-program.js";
import { SandboxPool } from "./sandbox-pool.js";
import { encodeValue } from "./value-codec.js";

/** Calls what one program defines, in the sandboxes of its options. */
export class RemoteRunner {
  readonly #settings: RemoteSettings;
  readonly #load: () => Promise<RemoteProgram>;
  readonly #pool: SandboxPool;
  readonly #prepared = new WeakMap<Sandbox, Promise<void>>();
  #program: Promise<RemoteProgram> | undefined;

  constructor(settings: RemoteSettings, load: () => Promise<RemoteProgram>) {
    this.#settings = settings;
    this.#load = load;
    this.#pool = new SandboxPool(settings.pool);
  }

  /** @param values what is sent: the arguments, or what the program takes in their place. */
  async call(name: string, values: readonly unknown[], options: RemoteCallOptions = {}): Promise<unknown> {
    options.signal?.throwIfAborted();
    const encoded = encodeValue(values, "arguments");
    const program = await this.#loadOnce();
    return this.#pool.use(options.signal, (sandbox) => this.#callIn(sandbox, { name, program, encoded }, options));
  }

  async map(name: string, items: Iterable<unknown> | AsyncIterable<unknown>, options: RemoteMapOptions = {}): Promise<unknown[]> {
    const concurrency = toConcurrency(options);
    options.signal?.throwIfAborted();
    return this.#pool.hold(() =>
      mapConcurrently(items, concurrency, options.signal, (item, signal) => this.call(name, [item], { ...options, signal })),
    );
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #callIn(sandbox: Sandbox, call: RemoteCall, options: RemoteCallOptions): Promise<unknown> {
    await untilAborted(this.#prepare(sandbox, call.program), options.signal);
    const { onStdout = this.#settings.call.onStdout, onStderr = this.#settings.call.onStderr, signal } = options;
    return callInSandbox(sandbox, call, { ...this.#settings.call, onStdout, onStderr, signal });
  }

  /** Calls that share a sandbox share what makes it ready, so none of them may abort it. */
  #prepare(sandbox: Sandbox, program: RemoteProgram): Promise<void> {
    const known = this.#prepared.get(sandbox);
    if (known !== undefined) return known;
    const prepared = prepare(sandbox, program);
    this.#prepared.set(sandbox, prepared);
    prepared.catch(() => this.#prepared.delete(sandbox));
    return prepared;
  }

  #loadOnce(): Promise<RemoteProgram> {
    if (this.#program === undefined) {
      this.#program = this.#load();
      this.#program.catch(() => {
        this.#program = undefined;
      });
    }
    return this.#program;
  }
}

async function prepare(sandbox: Sandbox, { directory, files, install }: RemoteProgram): Promise<void> {
  await sandbox.files.writeFiles(files);
  if (install !== undefined) await sandbox.commands.run(`cd ~/${directory} && ${install}`, { timeoutMs: INSTALL_TIMEOUT_MS });
}
