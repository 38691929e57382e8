import type { SandboxPreStopHook } from "@openai/agents-core/sandbox";

/** What runs once before a session ends; a hook that is added later makes it run anew. */
export class PreStopHooks {
  readonly #hooks = new Set<SandboxPreStopHook>();
  #hasRun = false;

  /** @returns what takes the hook away */
  add(hook: SandboxPreStopHook): () => void {
    this.#hooks.add(hook);
    this.#hasRun = false;
    return () => void this.#hooks.delete(hook);
  }

  /** Run every hook, in order, also where one fails; then rejects with the first failure. */
  async run(): Promise<void> {
    if (this.#hasRun) return;
    this.#hasRun = true;
    const failures: unknown[] = [];
    for (const hook of [...this.#hooks]) {
      try {
        await hook();
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
