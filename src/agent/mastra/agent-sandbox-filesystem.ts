import {
  type CopyOptions,
  DirectoryNotFoundError,
  type FileContent,
  type FileEntry,
  FileExistsError,
  FileNotFoundError,
  type FileStat,
  type FilesystemGrepOptions,
  type FilesystemGrepResult,
  type FilesystemInfo,
  type InstructionsOption,
  IsDirectoryError,
  type ListOptions,
  MastraFilesystem,
  type MastraFilesystemOptions,
  NotDirectoryError,
  type ProviderStatus,
  type ReadOptions,
  type RemoveOptions,
  StaleFileError,
  type WalkEntry,
  type WalkOptions,
  WorkspaceReadOnlyError,
  type WriteOptions,
} from "@mastra/core/workspace";
import type { Files } from "../../sandbox/files.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { mediaTypeOfName } from "../../shared/media-type.js";
import type { AgentSandbox } from "./agent-sandbox.js";
import { findEntry, hasExtension, parentOf, toWalkEntry, typeOf } from "./file-entries.js";
import { type FILE_SCRIPTS, runFileScript } from "./file-scripts.js";
import { type FileCall, requireDone, toFilesystemError } from "./filesystem-errors.js";
import { grepFiles } from "./grep-files.js";
import { type InstructionsContext, toInstructions } from "./instructions.js";

/** How an {@link AgentSandboxFilesystem} behaves. */
export interface AgentSandboxFilesystemOptions extends MastraFilesystemOptions {
  /** The sandbox whose files these are. */
  readonly sandbox: AgentSandbox;
  /** @defaultValue the id of the sandbox, followed by `-files` */
  readonly id?: string | undefined;
  /** Refuse everything that changes files; commands of the sandbox can change them nevertheless. @defaultValue false */
  readonly readOnly?: boolean | undefined;
  /** What agents are told about the files, or how the usual words are changed. */
  readonly instructions?: InstructionsOption | undefined;
}

/** Levels below the directory that a recursive `readdir` gives, as the local file system of Mastra does. */
const DEFAULT_MAX_DEPTH = 100;

/**
 * The files of an {@link AgentSandbox} as a file system of Mastra workspaces. Paths mean the same as in its commands: absolute ones are those
 * of the sandbox, relative ones begin in the working directory.
 */
export class AgentSandboxFilesystem extends MastraFilesystem {
  readonly id: string;
  override readonly name = "AgentSandboxFilesystem";
  readonly provider = "agent-sandbox";
  readonly readOnly: boolean;
  status: ProviderStatus = "pending";
  readonly #sandbox: AgentSandbox;
  readonly #instructions: InstructionsOption | undefined;

  constructor({ sandbox, id, readOnly, instructions, ...options }: AgentSandboxFilesystemOptions) {
    super({ ...options, name: "AgentSandboxFilesystem" });
    this.id = id ?? `${sandbox.id}-files`;
    this.readOnly = readOnly ?? false;
    this.#sandbox = sandbox;
    this.#instructions = instructions;
  }

  /** Where relative paths begin; `undefined` until the sandbox has started. */
  get basePath(): string | undefined {
    return this.#sandbox.workingDirectory;
  }

  /** A file as text in `options.encoding`, or its bytes. @throws `FileNotFoundError`, `IsDirectoryError` */
  override async readFile(path: string, options: ReadOptions = {}): Promise<string | Buffer> {
    return this.#call({ operation: "readFile", path }, async ({ files }, at) => {
      const bytes = await files.read(at(path), { format: "bytes" });
      const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return options.encoding === undefined ? buffer : buffer.toString(options.encoding);
    });
  }

  /** Write a whole file; parents are made unless `recursive` is false. @throws `FileExistsError` `overwrite` is false; `StaleFileError` it changed since `expectedMtime` */
  override async writeFile(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    await this.#change({ operation: "writeFile", path }, async (sandbox, at) => {
      const { files } = sandbox;
      if (options.recursive === false) await this.#requireParent(files, at, path);
      if (options.expectedMtime !== undefined) await this.#requireUnchanged(files, at, path, options.expectedMtime);
      if (options.overwrite !== false) {
        await files.write(at(path), content);
        return;
      }
      if (options.recursive !== false) await files.makeDir(parentOf(at(path)));
      await this.#script(sandbox, "createNew", { operation: "writeFile", path }, at(path));
      await files.write(at(path), content).catch(async (error: unknown) => {
        await files.remove(at(path)).catch(() => {});
        throw error;
      });
    });
  }

  /** Add to the end of a file, which is made where it is missing. Several at a time do not cut each other's text. */
  override async appendFile(path: string, content: FileContent): Promise<void> {
    await this.#change({ operation: "appendFile", path }, async (sandbox, at) => {
      const { path: piece } = await sandbox.files.write(`/tmp/append-${crypto.randomUUID()}`, content);
      await this.#script(sandbox, "append", { operation: "appendFile", path, target: path }, piece, at(path));
    });
  }

  /** Remove a file. @throws `FileNotFoundError` unless `force`; `IsDirectoryError` */
  override async deleteFile(path: string, options: RemoveOptions = {}): Promise<void> {
    await this.#change({ operation: "deleteFile", path }, async ({ files }, at) => {
      const entry = await findEntry(files, at(path));
      if (entry?.type === "dir" && entry.symlinkTarget === undefined) throw new IsDirectoryError(path);
      if (entry !== undefined) await files.remove(at(path));
      else if (!options.force) throw new FileNotFoundError(path);
    });
  }

  /** Copy a file, or a directory with `recursive`. @throws `FileNotFoundError`, `IsDirectoryError`; `FileExistsError` `overwrite` is false */
  override async copyFile(src: string, dest: string, options: CopyOptions = {}): Promise<void> {
    const call = { operation: "copyFile", path: src, target: dest };
    await this.#change(call, async (sandbox, at) => {
      const isTree = options.recursive === true && typeOf(await findEntry(sandbox.files, at(src))) === "directory";
      const isOver = options.overwrite !== false;
      const script = isTree ? (isOver ? "copyTree" : "copyTreeToNew") : isOver ? "copyFile" : "copyFileToNew";
      await this.#script(sandbox, script, call, at(src), at(dest));
    });
  }

  /** Move a file or a directory. @throws `FileNotFoundError`; `FileExistsError` `overwrite` is false */
  override async moveFile(src: string, dest: string, options: CopyOptions = {}): Promise<void> {
    const call = { operation: "moveFile", path: src, target: dest };
    await this.#change(call, async (sandbox, at) => {
      if (options.overwrite === false) await this.#script(sandbox, "moveToNew", call, at(src), at(dest));
      else await sandbox.files.rename(at(src), at(dest));
    });
  }

  /** Make a directory, with its parents unless `recursive` is false. @throws `FileExistsError`, `DirectoryNotFoundError` */
  override async mkdir(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    await this.#change({ operation: "mkdir", path, kind: "directory" }, async ({ files }, at) => {
      const type = typeOf(await findEntry(files, at(path)));
      if (type === "directory") return;
      if (type === "file") throw new FileExistsError(path);
      if (options.recursive === false) await this.#requireParent(files, at, path);
      await files.makeDir(at(path));
    });
  }

  /** Remove a directory, with what is in it if `recursive`. @throws `DirectoryNotFoundError`, `DirectoryNotEmptyError`, `NotDirectoryError` */
  override async rmdir(path: string, options: RemoveOptions = {}): Promise<void> {
    const call = { operation: "rmdir", path, kind: "directory" } as const;
    await this.#change(call, async (sandbox, at) => {
      const type = typeOf(await findEntry(sandbox.files, at(path)));
      if (type === "file") throw new NotDirectoryError(path);
      if (type === undefined) {
        if (options.force) return;
        throw new DirectoryNotFoundError(path);
      }
      if (options.recursive) await sandbox.files.remove(at(path));
      else await this.#script(sandbox, "removeEmpty", call, at(path));
    });
  }

  /** What is in a directory, below it too if `recursive`. @throws `DirectoryNotFoundError`, `NotDirectoryError` */
  override async readdir(path: string, options: ListOptions = {}): Promise<FileEntry[]> {
    const depth = options.recursive ? (options.maxDepth ?? DEFAULT_MAX_DEPTH) + 1 : 1;
    const entries = await this.#list("readdir", path, depth);
    const extensions = options.extension === undefined ? undefined : [options.extension].flat();
    return entries
      .filter(({ name, type }) => type === "directory" || extensions === undefined || hasExtension(name, extensions))
      .map(({ path: name, ...entry }) => ({ ...entry, name }));
  }

  /** Everything below a directory, in one request. */
  async walk(path: string, options: WalkOptions = {}): Promise<WalkEntry[]> {
    const entries = await this.#list("walk", path, options.maxDepth ?? 2 ** 31);
    return options.includeHidden ? entries : entries.filter((entry) => !/(^|\/)\./.test(entry.path));
  }

  /** Search files: the sandbox finds those that can match, and the expression is applied here. */
  async grep(options: FilesystemGrepOptions): Promise<FilesystemGrepResult[]> {
    return this.#call({ operation: "grep", path: options.path, kind: "directory" }, (sandbox, at) =>
      grepFiles(sandbox, { ...options, path: at(options.path) }, (name) => this.isTextFile(name)),
    );
  }

  /** Whether something is there, a directory too. */
  override async exists(path: string): Promise<boolean> {
    return this.#call({ operation: "exists", path }, async ({ files }, at) => typeOf(await findEntry(files, at(path))) !== undefined);
  }

  /** What is there. `createdAt` is the time of the last change, as no older one is known. @throws `FileNotFoundError` */
  override async stat(path: string): Promise<FileStat> {
    return this.#call({ operation: "stat", path }, async ({ files }, at) => {
      const entry = await files.getInfo(at(path));
      const type = typeOf(entry);
      if (type === undefined) throw new FileNotFoundError(path);
      // Linux keeps no time of creation that the sandbox tells.
      const modifiedAt = entry.modifiedTime ?? new Date(0);
      const mimeType = type === "file" ? mediaTypeOfName(entry.name) : undefined;
      return {
        name: entry.name,
        path: entry.path,
        type,
        size: type === "file" ? entry.size : 0,
        createdAt: modifiedAt,
        modifiedAt,
        ...(mimeType !== undefined && { mimeType }),
      };
    });
  }

  /** The path without symbolic links. */
  async realpath(path: string): Promise<string> {
    const call = { operation: "realpath", path };
    const printed = await this.#call(call, (sandbox, at) => this.#script(sandbox, "realPath", call, at(path)));
    return printed.slice(printed.lastIndexOf("\0") + 1);
  }

  /** The path in the sandbox; `undefined` for a relative one before the sandbox has started. */
  resolveAbsolutePath(path: string): string | undefined {
    const resolved = this.#sandbox.resolvePath(path);
    return resolved.startsWith("/") ? resolved : undefined;
  }

  /** What Mastra shows of the provider. */
  getInfo(): FilesystemInfo {
    const { id, name, provider, status, error, readOnly, basePath } = this;
    return {
      id,
      name,
      provider,
      status,
      readOnly,
      ...(error !== undefined && { error }),
      metadata: { basePath, sandbox: this.#sandbox.id },
    };
  }

  /** What a model is told about these files. */
  getInstructions(context?: InstructionsContext): string {
    const base = this.basePath === undefined ? "the working directory of the sandbox" : this.basePath;
    const usual = `Files are those of the sandbox: file tools and commands see the same paths. Relative paths begin in ${base}.`;
    return toInstructions(this.#instructions, this.readOnly ? `${usual} The file tools only read.` : usual, context);
  }

  async #list(operation: string, path: string, depth: number): Promise<WalkEntry[]> {
    return this.#call({ operation, path, kind: "directory" }, async ({ files }, at) => {
      const root = await files.getInfo(at(path));
      const entries = await files.list(at(path), { depth });
      const prefix = root.path === "/" ? "/" : `${root.path}/`;
      return entries.map((entry) => toWalkEntry(entry, prefix));
    });
  }

  #change<T>(call: FileCall, action: (sandbox: Sandbox, at: (path: string) => string) => Promise<T>): Promise<T> {
    if (this.readOnly) return Promise.reject(new WorkspaceReadOnlyError(call.operation));
    return this.#call(call, action);
  }

  async #call<T>(call: FileCall, action: (sandbox: Sandbox, at: (path: string) => string) => Promise<T>): Promise<T> {
    await this.ensureReady();
    return this.#sandbox.use(async (sandbox) => {
      const at = (path: string) => this.#sandbox.resolvePath(path);
      try {
        return await action(sandbox, at);
      } catch (error) {
        // What cannot be looked at is no reason.
        const look = (path: string) => findEntry(sandbox.files, at(path)).then(typeOf, () => undefined);
        throw await toFilesystemError(error, call, look);
      }
    });
  }

  async #script(sandbox: Sandbox, script: keyof typeof FILE_SCRIPTS, call: FileCall, ...paths: string[]): Promise<string> {
    return requireDone(await runFileScript(sandbox, script, ...paths), call);
  }

  async #requireParent(files: Files, at: (path: string) => string, path: string): Promise<void> {
    const parent = parentOf(path);
    const type = typeOf(await findEntry(files, at(parent)));
    if (type === undefined) throw new DirectoryNotFoundError(parent);
    if (type === "file") throw new NotDirectoryError(parent);
  }

  async #requireUnchanged(files: Files, at: (path: string) => string, path: string, expected: Date): Promise<void> {
    const actual = (await findEntry(files, at(path)))?.modifiedTime;
    if (actual !== undefined && actual.getTime() !== expected.getTime()) throw new StaleFileError(path, expected, actual);
  }
}
