import { type ApplyPatchOperation, type ApplyPatchResult, applyDiff, type Editor } from "@openai/agents-core";
import {
  SandboxApplyPatchDecodeError,
  SandboxApplyPatchDiffError,
  SandboxApplyPatchFileNotFoundError,
  SandboxApplyPatchPathError,
} from "@openai/agents-core/sandbox";
import { FileNotFoundError, InvalidArgumentError } from "../../errors/error-classes.js";
import { messageOf } from "../../shared/message-of.js";
import type { SessionFiles } from "./session-files.js";

type Operation<T extends ApplyPatchOperation["type"]> = Extract<ApplyPatchOperation, { type: T }>;

/** What an editor needs of its session. */
export interface EditorPlace {
  /** The files as the editor's user may touch them. */
  files(): Promise<SessionFiles>;
  /** The absolute path of something that is to be written. @throws it lies outside of what the session may write */
  resolve(path: string): string;
}

/** Bytes of the largest file that is edited. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Applies patches to the files of a session, whole or not at all. */
export class WorkspaceEditor implements Editor {
  readonly #place: EditorPlace;

  constructor(place: EditorPlace) {
    this.#place = place;
  }

  /** Make a file with its parents. @throws `SandboxApplyPatchPathError` there is something at the path */
  async createFile({ path, diff }: Operation<"create_file">): Promise<ApplyPatchResult> {
    const files = await this.#place.files();
    const target = this.#place.resolve(path);
    const content = patch(path, "", diff, "create");
    if ((await files.kindOf(target)) !== undefined) {
      throw new SandboxApplyPatchPathError(`${path} exists already: update it, or delete it first`, { path });
    }
    await files.write(target, content);
    return {};
  }

  /** Change a file, and move it where the operation says so. */
  async updateFile({ path, diff, moveTo }: Operation<"update_file">): Promise<ApplyPatchResult> {
    const files = await this.#place.files();
    const source = this.#place.resolve(path);
    const target = moveTo === undefined ? source : this.#place.resolve(moveTo);
    const before = await readText(files, path, source);
    const after = diff.trim() === "" ? before : patch(path, before, diff);
    // Moved first, because a failing move leaves everything as it was; the file keeps its permission bits.
    if (target !== source) await files.move(source, target);
    if (after !== before) await files.write(target, after);
    return {};
  }

  /** Remove a file. */
  async deleteFile({ path }: Operation<"delete_file">): Promise<ApplyPatchResult> {
    const files = await this.#place.files();
    try {
      await files.remove(this.#place.resolve(path));
      return {};
    } catch (error) {
      if (error instanceof FileNotFoundError) throw notFound(path);
      throw error;
    }
  }
}

async function readText(files: SessionFiles, path: string, target: string): Promise<string> {
  await assertFile(files, path, target);
  const bytes = await files.read(target, MAX_FILE_BYTES + 1);
  if (bytes.length > MAX_FILE_BYTES) {
    throw new InvalidArgumentError(`${path} has more than ${MAX_FILE_BYTES} bytes, which is too much for a patch: use a command`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SandboxApplyPatchDecodeError(`${path} is not UTF-8 text, so it cannot be patched`, { path });
  }
}

async function assertFile(files: SessionFiles, path: string, target: string): Promise<void> {
  const kind = await files.kindOf(target);
  if (kind === undefined) throw notFound(path);
  if (kind !== "file") throw new SandboxApplyPatchPathError(`${path} is not a file`, { path });
}

function notFound(path: string): SandboxApplyPatchFileNotFoundError {
  return new SandboxApplyPatchFileNotFoundError(`File not found: ${path}`, { path });
}

function patch(path: string, before: string, diff: string, mode?: "create"): string {
  try {
    return applyDiff(before, diff, mode);
  } catch (error) {
    const message = messageOf(error);
    throw new SandboxApplyPatchDiffError(`the diff does not fit ${path}: ${message}`, { path });
  }
}
