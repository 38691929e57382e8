import { FailedPreconditionError, NotFoundError } from "../../errors/error-classes.js";
import type { DaemonState } from "../daemon-state.js";
import { resolvePath } from "../path-resolver.js";
import { processEnvironment } from "../process/environment.js";
import { assertWorkingDirectory } from "../process/launch.js";
import { OomCounter } from "../process/oom-counter.js";
import type { User } from "../user-database.js";
import { resolveUser } from "../users.js";
import { CodeContext, type ContextParts } from "./code-context.js";
import { KernelBridge } from "./kernel-bridge.js";
import { findKernelHost, type KernelHost } from "./kernel-host.js";
import { DEFAULT_LANGUAGE, toLanguage } from "./languages.js";

/** Languages whose default contexts are listed from the start. */
const LISTED: readonly string[] = [DEFAULT_LANGUAGE, "javascript"];

/** The contexts of the sandbox. */
export class ContextTable {
  readonly #state: DaemonState;
  readonly #bridge = new KernelBridge();
  readonly #oomCounter = new OomCounter();
  readonly #contexts = new Map<string, CodeContext>();
  /** Default contexts by language. */
  readonly #defaults = new Map<string, CodeContext>();
  readonly #parts: ContextParts;
  /** Whose kernels run. */
  #userName: string | undefined;

  constructor(state: DaemonState) {
    this.#state = state;
    this.#parts = {
      bridge: this.#bridge,
      oomKills: () => this.#oomCounter.read(),
      sandboxVars: () => this.#sandboxVars(this.#user()),
      startKernel: async ({ name, cwd }, listener) => {
        assertWorkingDirectory(cwd);
        const user = this.#user();
        return this.#bridge.start({ name, cwd, envs: this.#sandboxVars(user) }, this.#host(user), user, listener);
      },
    };
  }

  /** True when kernels are installed in the sandbox, as it is now. */
  get isAvailable(): boolean {
    try {
      return findKernelHost(this.#user().home) !== undefined;
    } catch {
      // The user of the sandbox is not known yet.
      return false;
    }
  }

  /** Have the first kernel before anybody asks for it. */
  warmUp(): void {
    if (this.isAvailable)
      this.default(DEFAULT_LANGUAGE)
        .ready()
        .catch(() => {});
  }

  /** In the order of their creation. */
  list(): CodeContext[] {
    this.#followUser();
    return [...this.#contexts.values()];
  }

  /** @throws {@link NotFoundError} no context has the id. */
  get(id: string): CodeContext {
    const context = this.#contexts.get(id);
    if (context === undefined) throw new NotFoundError(`Context ${id} not found`);
    this.#followUser();
    return context;
  }

  /** The default context of a language. */
  default(language: string | null | undefined): CodeContext {
    this.#followUser();
    const name = toLanguage(language);
    const known = this.#defaults.get(name);
    if (known !== undefined) return known;
    const context = this.#add(name, this.#user().home);
    this.#defaults.set(name, context);
    return context;
  }

  /**
   * Make a context; resolves when its kernel is ready.
   *
   * @throws {@link InvalidArgumentError} no kernel has this name, or the directory is missing; {@link InternalError} it does not start.
   */
  async create(language: string | null | undefined, cwd: string | null | undefined): Promise<CodeContext> {
    this.#followUser();
    const user = this.#user();
    const directory = cwd ? resolvePath(cwd, user, this.#state) : user.home;
    assertWorkingDirectory(directory);
    const context = this.#add(toLanguage(language), directory);
    try {
      await context.ready();
    } catch (error) {
      this.#contexts.delete(context.id);
      throw error;
    }
    return context;
  }

  /** Forget a context whose kernel never started. */
  forget(context: CodeContext): void {
    this.#contexts.delete(context.id);
    if (this.#defaults.get(context.language) === context) this.#defaults.delete(context.language);
  }

  remove(id: string): void {
    const context = this.get(id);
    this.forget(context);
    context.remove();
  }

  close(): void {
    this.#end();
    this.#oomCounter.close();
  }

  #end(): void {
    for (const context of this.#contexts.values()) context.remove();
    this.#bridge.close();
  }

  #add(language: string, cwd: string): CodeContext {
    const context = new CodeContext(language, cwd, this.#parts);
    this.#contexts.set(context.id, context);
    return context;
  }

  /** Begins with the contexts that are there from the start, and begins anew when the control plane names another user. */
  #followUser(): void {
    const { name, home } = this.#user();
    if (this.#userName === name) return;
    if (this.#userName !== undefined) this.#end();
    this.#userName = name;
    this.#contexts.clear();
    this.#defaults.clear();
    for (const language of LISTED) this.#defaults.set(language, this.#add(language, home));
  }

  #user(): User {
    return resolveUser(undefined, this.#state);
  }

  #host({ home }: User): KernelHost {
    const host = findKernelHost(home);
    if (host === undefined)
      throw new FailedPreconditionError("the sandbox has no kernels any more: its Python or its kernelspecs were removed");
    return host;
  }

  #sandboxVars(user: User): ReadonlyMap<string, string> {
    return processEnvironment(user, this.#state.envVars, [], this.#state.defaultVars);
  }
}
