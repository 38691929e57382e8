import { constants, type Stats, statSync } from "node:fs";
import { open, stat, unlink } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { FileContext } from "../filesystem/file-context.js";
import { errnoCode, fileError } from "../filesystem/file-error.js";
import { sendJson } from "../http-response.js";
import { readJsonObject } from "../json-body.js";
import { resolvePath } from "../path-resolver.js";
import { resolveUser } from "../users.js";
import { openStaged, type StagedFile } from "./staged-file.js";

const MAX_BODY_BYTES = 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;

/**
 * `POST /files/compose`: join files into one and remove them.
 *
 * The destination is replaced at once when it is complete; the sources go only after that, so no byte is lost by a failure.
 *
 * @throws {@link InvalidArgumentError} the request is malformed, or a source is no regular file or the destination itself;
 * {@link FileNotFoundError} a source is missing; {@link NotEnoughSpaceError} the disk is full.
 */
export async function handleCompose(req: IncomingMessage, res: ServerResponse, context: FileContext): Promise<void> {
  const body = await readJsonObject(req, MAX_BODY_BYTES);
  const user = resolveUser(optionalText(body, "username"), context);
  const destinationText = optionalText(body, "destination");
  const sourceTexts = body.source_paths;
  if (!destinationText) throw new InvalidArgumentError("destination is missing: name the file to make");
  if (!Array.isArray(sourceTexts) || sourceTexts.length === 0 || !sourceTexts.every((path) => typeof path === "string" && path !== "")) {
    throw new InvalidArgumentError("source_paths must be a list of at least one path");
  }
  const destination = resolvePath(destinationText, user, context);
  const sources = (sourceTexts as string[]).map((path) => resolvePath(path, user, context)); // checked above
  await assertSources(sources, destination);
  try {
    await using staged = await openStaged(destination, { user, context });
    let offset = 0;
    for (const source of sources) offset = await append(staged, offset, source);
    await staged.takePlace(destination);
  } catch (error) {
    if (errnoCode(error) === "ENOTDIR") throw new InvalidArgumentError(`a parent of '${destination}' is not a directory`, { cause: error });
    throw fileError(error, "write", destination);
  }
  for (const source of new Set(sources)) await unlink(source).catch(() => {});
  sendJson(res, 200, { name: basename(destination), path: destination, type: "file" });
}

async function assertSources(sources: readonly string[], destination: string): Promise<void> {
  const target = statSync(destination, { throwIfNoEntry: false });
  if (target !== undefined && !target.isFile()) throw new InvalidArgumentError(`path '${destination}' is not a regular file`);
  for (const source of sources) {
    const stats = await stat(source).catch((error: unknown) => {
      throw fileError(error, "read", source);
    });
    if (!stats.isFile()) throw new InvalidArgumentError(`path '${source}' is not a regular file`);
    if (source === destination || isSame(stats, target)) {
      throw new InvalidArgumentError(`path '${source}' is both source and destination: write to another file`);
    }
  }
}

function isSame(stats: Stats, other: Stats | undefined): boolean {
  return other !== undefined && stats.dev === other.dev && stats.ino === other.ino;
}

async function append(staged: StagedFile, offset: number, source: string): Promise<number> {
  const file = await open(source, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw fileError(error, "read", source);
  });
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let end = offset;
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return end;
      for (let written = 0; written < bytesRead; ) {
        written += (await staged.file.write(buffer, written, bytesRead - written, end + written)).bytesWritten;
      }
      end += bytesRead;
    }
  } finally {
    await file.close();
  }
}

function optionalText(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw new InvalidArgumentError(`${name} must be a string`);
  return value;
}
