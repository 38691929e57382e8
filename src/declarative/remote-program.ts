import type { FileWriteEntry } from "../sandbox/files.js";

/** What is put into a sandbox so that a function can be called there. */
export interface RemoteProgram {
  /** Directory of its files, relative to the home of the user. Equal programs have equal directories. */
  readonly directory: string;
  readonly files: readonly FileWriteEntry[];
  /** Shell line, run once in the directory, that installs packages; absent where there are none. */
  readonly install: string | undefined;
  /** Shell line that makes a call: it reads the arguments from one file, and leaves how the call ended in the other. */
  readonly toCommand: (call: ProgramCall) => string;
}

/** What one call of a program is about; paths are relative to the home of the user. */
export interface ProgramCall {
  /** Which function, where a program has several. */
  readonly functionName: string;
  readonly argumentsPath: string;
  readonly resultPath: string;
}

/** Where programs lie, relative to the home of the user. */
export const PROGRAMS_DIR = ".agent-sandbox/remote";
