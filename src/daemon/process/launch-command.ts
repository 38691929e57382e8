import { closeSync, openSync } from "node:fs";
import { Socket } from "node:net";
import type { LibcLoader } from "../native/libc.js";
import { InputWriter } from "./input-writer.js";
import { type Launched, type LaunchPlan, type LaunchSink, preferForOom } from "./launch.js";
import { openPipeSource } from "./output-source.js";
import { createPipes, type Pipes } from "./pipes.js";
import { createProgramStarter, type ProgramStarter } from "./program-starter.js";

/** Starts programs on pipes. */
export class CommandLauncher {
  readonly #libc: LibcLoader;
  readonly #readBuffer: Buffer;
  readonly #starter: ProgramStarter;
  #pipes: Pipes | undefined;

  /** `readBuffer` is scratch space for the output of all processes. */
  constructor(libc: LibcLoader, readBuffer: Buffer) {
    this.#libc = libc;
    this.#readBuffer = readBuffer;
    this.#starter = createProgramStarter(libc);
  }

  /** Do ahead what the first start would wait for. */
  prepare(): void {
    this.#pipes ??= createPipes(this.#libc);
    this.#starter.prepare();
  }

  /**
   * Start a program in a process group of its own. A program that cannot be executed rejects, and leaves nothing open.
   *
   * @throws {@link InvalidArgumentError} the kernel refuses the program or the size of its arguments.
   */
  async launch(plan: LaunchPlan, hasStdin: boolean, sink: LaunchSink): Promise<Launched> {
    this.#pipes ??= createPipes(this.#libc);
    const open = new Set<number>();
    const track = (fd: number) => {
      open.add(fd);
      return fd;
    };
    const release = (fd: number) => {
      open.delete(fd);
      return fd;
    };
    try {
      const stdout = this.#pipes.openOutput();
      track(stdout.readFd);
      track(stdout.writeFd);
      const stderr = this.#pipes.openOutput();
      track(stderr.readFd);
      track(stderr.writeFd);
      const stdin = hasStdin ? this.#pipes.openInput() : undefined;
      const stdinFd = track(stdin?.readFd ?? openSync("/dev/null", "r"));
      if (stdin !== undefined) track(stdin.writeFd);

      const pid = await this.#starter.start(plan, [stdinFd, stdout.writeFd, stderr.writeFd], (exit) => sink.onExit(exit));
      preferForOom(pid);
      return {
        pid,
        sources: [
          openPipeSource(release(stdout.readFd), "stdout", sink, this.#readBuffer),
          openPipeSource(release(stderr.readFd), "stderr", sink, this.#readBuffer),
        ],
        input: stdin && new InputWriter(new Socket({ fd: release(stdin.writeFd), readable: false, writable: true })),
      };
    } finally {
      for (const fd of open) closeSync(fd);
    }
  }

  async close(): Promise<void> {
    this.#starter.close();
    await this.#pipes?.close();
  }
}
