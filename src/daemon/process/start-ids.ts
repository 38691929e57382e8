import { AlreadyExistsError, FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import type { ManagedProcess } from "./managed-process.js";

const ID = /^[A-Za-z0-9_-]{16,64}$/;
/** Starts that were given up before they came. */
const MAX_GIVEN_UP = 1024;

/**
 * Check an id that makes a call repeatable; an empty one makes it not.
 *
 * @throws {@link InvalidArgumentError} it is malformed.
 */
export function assertRepeatId(field: string, id: string): void {
  if (id !== "" && !ID.test(id)) throw new InvalidArgumentError(`${field} must have 16 to 64 characters of A-Z a-z 0-9 _ -`);
}

/** What of a start must be equal for it to be a repetition. */
export interface StartFacts {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
}

interface Entry {
  readonly facts: StartFacts;
  readonly started: Promise<ManagedProcess>;
  process: ManagedProcess | undefined;
}

/** The starts that can be repeated, as long as their processes are remembered. */
export class StartIds {
  readonly #entries = new Map<string, Entry>();
  readonly #givenUp = new Set<string>();

  /**
   * Start under an id, or find what was started under it.
   *
   * @throws {@link AlreadyExistsError} the id belongs to another start; {@link FailedPreconditionError} it was given up.
   */
  async once(id: string, facts: StartFacts, start: () => Promise<ManagedProcess>): Promise<ManagedProcess> {
    const known = this.#entries.get(id);
    if (known !== undefined) {
      if (!isSame(known.facts, facts)) throw new AlreadyExistsError(`start_id '${id}' was used for another program`);
      return known.started;
    }
    if (this.#givenUp.has(id))
      throw new FailedPreconditionError(`the start with start_id '${id}' was given up before it came`, undefined, "aborted");
    const entry: Entry = { facts, started: start(), process: undefined };
    this.#entries.set(id, entry);
    try {
      entry.process = await entry.started;
      return entry.process;
    } catch (error) {
      // Nothing runs, so the id is free again.
      this.#entries.delete(id);
      throw error;
    }
  }

  /** The process that was started under an id. */
  find(id: string): ManagedProcess | undefined {
    return this.#entries.get(id)?.process;
  }

  /** Wait while a start is under way. One that has not come yet never will: the newest 1024 of them are remembered. */
  async giveUp(id: string): Promise<void> {
    const known = this.#entries.get(id);
    if (known !== undefined) {
      await known.started.catch(() => undefined);
      return;
    }
    if (!ID.test(id)) return;
    this.#givenUp.add(id);
    const [oldest] = this.#givenUp;
    if (this.#givenUp.size > MAX_GIVEN_UP && oldest !== undefined) this.#givenUp.delete(oldest);
  }

  /** Forget the id of a process. */
  forget(id: string, process: ManagedProcess): void {
    if (this.find(id) === process) this.#entries.delete(id);
  }
}

function isSame(a: StartFacts, b: StartFacts): boolean {
  const names = Object.keys(a.envs);
  return (
    a.cmd === b.cmd &&
    a.cwd === b.cwd &&
    a.tag === b.tag &&
    a.args.length === b.args.length &&
    a.args.every((arg, index) => arg === b.args[index]) &&
    names.length === Object.keys(b.envs).length &&
    names.every((name) => a.envs[name] === b.envs[name])
  );
}
