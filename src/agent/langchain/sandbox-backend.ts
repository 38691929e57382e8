import type {
  DeleteResult,
  EditResult,
  ExecuteResponse,
  FileDownloadResponse,
  FileUploadResponse,
  GlobResult,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  SandboxBackendProtocolV2,
  WriteResult,
} from "deepagents";
import { FileNotFoundError, InvalidArgumentError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { untilAborted } from "../../shared/until-aborted.js";
import { ChangeQueue } from "../change-queue.js";
import { describeFailure } from "../describe-failure.js";
import type { SandboxSession } from "../sandbox-session.js";
import { QUICK_MS } from "../tool-context.js";
import { BACKEND_ADVICE, type BackendCall } from "./backend-call.js";
import { deleteFile, editFile, writeFile } from "./change-file.js";
import { currentRun } from "./current-run.js";
import { executeCommand } from "./execute-command.js";
import { listFiles } from "./list-files.js";
import { readFile, readRaw } from "./read-file.js";
import { globFiles, grepFiles } from "./search-files.js";
import { downloadFiles, uploadFiles } from "./transfer-files.js";

/** How a backend works in its sandbox. */
export interface SandboxBackendOptions {
  /** Milliseconds after which a command is killed. @defaultValue 600_000 */
  readonly timeoutMs?: number | undefined;
  /**
   * Bytes of output of a command; of more, beginning and end are kept. deepagents itself moves long output into a file of the sandbox.
   *
   * @defaultValue 1_048_576
   */
  readonly maxOutputBytes?: number | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_MAX_OUTPUT_BYTES = 1024 * 1024;
/** The framework's, of a read that names none. */
const DEFAULT_LINES = 500;

/**
 * The file system and the shell of deepagents in a sandbox.
 *
 * Paths are absolute, or relative to the home directory. A failure is a result with `error`, in words from which a model can go on; only an
 * abort of the run that calls rejects, with its reason, after which what ran in the sandbox is killed. Transfers of files have codes instead of
 * words, and reject where the failure concerns more than one path.
 */
export class SandboxBackend implements SandboxBackendProtocolV2 {
  /** Of the backend: the id of the sandbox where one was given, else one that is there before the sandbox is. */
  readonly id: string;
  readonly #session: SandboxSession;
  readonly #timeoutMs: number;
  readonly #maxOutputBytes: number;
  readonly #user: string | undefined;
  readonly #changes = new ChangeQueue();

  /**
   * @param session its default sandbox is used, and made when it is first needed; who made the session closes it.
   * @throws {@link InvalidArgumentError} `timeoutMs` is not positive.
   */
  constructor(session: SandboxSession, options: SandboxBackendOptions = {}) {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
      throw new InvalidArgumentError(`timeoutMs must be a whole number of at least 1, not ${String(timeoutMs)}`);
    }
    this.id = session.sandboxIds[0] ?? `agent-sandbox-${crypto.randomUUID()}`;
    this.#session = session;
    this.#timeoutMs = timeoutMs;
    this.#maxOutputBytes = options.maxOutputBytes ?? DEFAULT_MAX_OUTPUT_BYTES;
    this.#user = options.user;
  }

  /** Entries of a directory; one that is not there is empty, as in the backends of the framework. */
  ls(path: string): Promise<LsResult> {
    return this.#answer("ls", path, (sandbox, call) => listFiles(sandbox, path, call));
  }

  /**
   * Read lines of a text, counted from 0, or the whole of an image, a sound, a video or a document of at most 10 MiB. What a file is, its first
   * bytes say before its name.
   */
  read(filePath: string, offset = 0, limit = DEFAULT_LINES): Promise<ReadResult> {
    return this.#answer("read", filePath, (sandbox, call) => readFile(sandbox, filePath, toCount(offset), toCount(limit), call));
  }

  /** Read a whole file of at most 64 MiB. */
  readRaw(filePath: string): Promise<ReadRawResult> {
    return this.#answer("readRaw", filePath, (sandbox, call) => readRaw(sandbox, filePath, call));
  }

  /** Write a file. Directories are made, and a file that is there is replaced. */
  write(filePath: string, content: string): Promise<WriteResult> {
    return this.#change("write", filePath, (sandbox, call) => writeFile(sandbox, filePath, content, call));
  }

  /** Replace a text that is in a file exactly once, or each. Edits of one file are done one after the other. */
  edit(filePath: string, oldString: string, newString: string, replaceAll = false): Promise<EditResult> {
    const edit = { oldText: oldString, newText: newString, replaceAll };
    return this.#change("edit", filePath, (sandbox, call) => editFile(sandbox, filePath, edit, call));
  }

  /** Remove a file, or a directory with all that is in it. */
  delete(filePath: string): Promise<DeleteResult> {
    return this.#change("delete", filePath, (sandbox, call) => deleteFile(sandbox, filePath, call));
  }

  /**
   * Find a text in text files, at most 10_000 lines of them. `glob` is one of the name, or with a `/` of the path below `path`. From `/` on,
   * directories of the kernel are left out and those of the system come last.
   */
  grep(pattern: string, path?: string | null, glob?: string | null, maxCount?: number | null): Promise<GrepResult> {
    const query = { pattern, path: path || "/", glob: glob || undefined, maxCount: maxCount ?? undefined };
    return this.#answer("grep", query.path, (sandbox, call) => grepFiles(sandbox, query, call));
  }

  /** Find at most 10_000 files and directories by a pattern such as `**\/*.{ts,tsx}`. Paths of the result are absolute. */
  glob(pattern: string, path?: string): Promise<GlobResult> {
    return this.#answer("glob", path || "/", (sandbox, call) => globFiles(sandbox, pattern, path || "/", call));
  }

  /**
   * Run a command line of bash in the home directory, and give both streams as one. A signal counts as exit code 128 plus its number, too much
   * time as 124; it is `null` where the command could not be run, and `output` says why.
   */
  async execute(command: string): Promise<ExecuteResponse> {
    const { signal } = currentRun();
    const call = { signal, user: this.#user, timeoutMs: this.#timeoutMs, maxOutputBytes: this.#maxOutputBytes };
    try {
      return await this.#use(signal, this.#timeoutMs, (sandbox) => executeCommand(sandbox, command, call));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return { output: describeFailure("execute", error, BACKEND_ADVICE), exitCode: null, truncated: false };
    }
  }

  /** Write files, each with an outcome of its own. @throws {@link SandboxError} the sandbox cannot be used. */
  uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]> {
    const { signal } = currentRun();
    return this.#use(signal, QUICK_MS, (sandbox) => uploadFiles(sandbox, files, { signal, user: this.#user }));
  }

  /** Read files of at most 64 MiB, each with an outcome of its own. @throws {@link SandboxError} the sandbox cannot be used. */
  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const { signal } = currentRun();
    return this.#use(signal, QUICK_MS, (sandbox) => downloadFiles(sandbox, paths, { signal, user: this.#user }));
  }

  #change<T>(name: string, path: string, action: (sandbox: Sandbox, call: BackendCall) => Promise<T>): Promise<T | { error: string }> {
    return this.#changes.run(path, () => this.#answer(name, path, action));
  }

  async #answer<T>(
    name: string,
    path: string,
    action: (sandbox: Sandbox, call: BackendCall) => Promise<T>,
  ): Promise<T | { error: string }> {
    const { signal } = currentRun();
    try {
      // It would mean the home directory, which nobody names by nothing.
      if (path === "") throw new InvalidArgumentError("the path is empty");
      return await this.#use(signal, QUICK_MS, (sandbox) => action(sandbox, { signal, user: this.#user }));
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const isMissing = SandboxError.isInstance(error) && error.reason === "file_not_found";
      const told = isMissing ? new FileNotFoundError(`'${path}' not found`, { cause: error }) : error;
      return { error: describeFailure(name, told, BACKEND_ADVICE) };
    }
  }

  async #use<T>(signal: AbortSignal | undefined, callMs: number, action: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    return untilAborted(this.#session.use(undefined, callMs, action), signal);
  }
}

/** As the framework reads such numbers. */
function toCount(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0;
}
