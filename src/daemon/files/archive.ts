import { type Stats, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { createIgnoreRules } from "../../shared/ignore-rules.js";
import { reclaimBuffers } from "../../shared/reclaim-buffers-node.js";
import { extractTar } from "../../shared/tar-extract-node.js";
import { packTar } from "../../shared/tar-pack-node.js";
import { ensureDirectory } from "../filesystem/directories.js";
import type { FileContext } from "../filesystem/file-context.js";
import { errnoCode, fileError } from "../filesystem/file-error.js";
import { stagedPath } from "../filesystem/staged-name.js";
import { readJsonObject } from "../json-body.js";
import { resolvePath } from "../path-resolver.js";
import { resolveUser } from "../users.js";

const MAX_BODY_BYTES = 1024 * 1024;
const ARCHIVE_TYPE = "application/x-tar";
/** Milliseconds without a byte after which an upload is given up. */
const IDLE_MS = 300_000;

/**
 * `POST /agentsandbox/files/pack`: answer with a directory as a tar archive. A failure after the beginning cuts the connection.
 *
 * @throws {@link InvalidArgumentError} the request is malformed, or the path is no directory; {@link FileNotFoundError} nothing is there.
 */
export async function handlePack(req: IncomingMessage, res: ServerResponse, context: FileContext): Promise<void> {
  const body = await readJsonObject(req, MAX_BODY_BYTES);
  const { path: pathText = "", username = undefined, ignore = [] } = body;
  if (typeof pathText !== "string") throw new InvalidArgumentError("path must be a string");
  if (username !== undefined && typeof username !== "string") throw new InvalidArgumentError("username must be a string");
  if (!Array.isArray(ignore)) throw new InvalidArgumentError("ignore must be a list of patterns");
  const rules = createIgnoreRules(ignore as string[]); // which checks each element
  const path = resolvePath(pathText, resolveUser(username, context), context);
  assertDirectory(path);
  res.writeHead(200, { "content-type": ARCHIVE_TYPE });
  const chunks = packTar(path, { rules, onProgress: (_path, bytes) => reclaimBuffers(bytes) });
  await pipeline(Readable.from(chunks, { objectMode: false, highWaterMark: 1 }), res);
}

/**
 * `POST /agentsandbox/files/unpack`: make the entries of a tar archive, owned by the user, below a directory that is made when missing.
 *
 * @throws {@link InvalidArgumentError} the archive is malformed or an entry leads out of the directory; {@link AlreadyExistsError} a file
 * and a directory are at one path; {@link NotEnoughSpaceError} the disk is full. What was unpacked before stays.
 */
export async function handleUnpack(req: IncomingMessage, res: ServerResponse, context: FileContext): Promise<void> {
  const query = new URLSearchParams(req.url?.split("?")[1] ?? "");
  const mediaType = (req.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (mediaType !== ARCHIVE_TYPE) throw new InvalidArgumentError(`an archive is ${ARCHIVE_TYPE}, not '${mediaType ?? ""}'`);
  const user = resolveUser(query.get("username") ?? undefined, context);
  const path = resolvePath(query.get("path") ?? "", user, context);
  const existing = statSync(path, { throwIfNoEntry: false });
  if (existing !== undefined && !existing.isDirectory()) throw new InvalidArgumentError(`path '${path}' exists and is not a directory`);
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`no byte of the archive came for ${IDLE_MS / 1000} s`)));
  try {
    await ensureDirectory(path, user);
    await extractTar(req.iterator({ destroyOnReturn: false }), path, {
      // Links of a sandbox lead to places in the sandbox, and nothing is written through them.
      outsideLinks: "keep",
      owner: user,
      stagedPath,
    });
  } catch (error) {
    // What was not read is drained, so that the client gets to the answer.
    req.resume();
    const code = errnoCode(error);
    if (code === "ENOTDIR") throw new InvalidArgumentError(`a parent of '${path}' is not a directory`, { cause: error });
    if (code === "ECONNRESET") throw new InvalidArgumentError("the archive broke off", { cause: error });
    throw fileError(error, "unpack to", path);
  } finally {
    req.setTimeout(0);
  }
  res.writeHead(204).end();
}

function assertDirectory(path: string): void {
  let stats: Stats;
  try {
    stats = statSync(path);
  } catch (error) {
    throw fileError(error, "read", path);
  }
  if (!stats.isDirectory()) throw new InvalidArgumentError(`path '${path}' is not a directory`);
}
