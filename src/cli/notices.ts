import { writeErr } from "./output.js";
import { toPrintable } from "./printable.js";
import { Progress } from "./progress.js";

/** What a command says beside its result, on stderr; `--quiet` keeps it back. Errors are not among it. */
export class Notices {
  #isQuiet = false;

  silence(): void {
    this.#isQuiet = true;
  }

  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  /** One line. */
  async tell(line: string): Promise<void> {
    if (!this.#isQuiet) await writeErr(`${toPrintable(line)}\n`);
  }

  /** A line that tells how far long work is, until it is disposed. */
  openProgress(label: string): Progress {
    return new Progress(label, process.stderr, this.#isQuiet);
  }
}
