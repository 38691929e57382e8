import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { FileContext } from "../filesystem/file-context.js";
import { errnoCode } from "../filesystem/file-error.js";
import { sendJson } from "../http-response.js";
import { resolvePath } from "../path-resolver.js";
import type { User } from "../user-database.js";
import { feed } from "./feed.js";
import { readMultipartFiles } from "./multipart-files.js";
import { storeFile } from "./store-file.js";
import { parseUploadMetadata } from "./upload-metadata.js";

/** Milliseconds without a byte after which an upload is given up. */
const IDLE_MS = 300_000;

/** One element of the answer to an upload. */
interface WrittenFile {
  readonly name: string;
  readonly path: string;
  readonly type: "file";
  readonly metadata?: Readonly<Record<string, string>>;
}

/**
 * Store the files of a request body and answer with their list, after the last one is closed.
 *
 * Parts are stored in their order; when one fails, those before it stay and the answer is the error.
 *
 * @throws {@link InvalidArgumentError} wrong content type or coding, no or a repeated target path, a body that breaks off; what
 * {@link storeFile} throws.
 */
export async function receiveFiles(
  req: IncomingMessage,
  res: ServerResponse,
  path: string | undefined,
  user: User,
  context: FileContext,
): Promise<void> {
  const metadata = parseUploadMetadata(req.headers);
  const contentType = req.headers["content-type"] ?? "";
  const mediaType = contentType.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const written = new Map<string, WrittenFile>();

  const store = async (name: string | undefined, content: AsyncIterable<Uint8Array>): Promise<void> => {
    if (!name) throw new InvalidArgumentError("a file has no target: give the query parameter 'path', or a file name to each part");
    const target = resolvePath(name, user, context);
    if (written.has(target)) {
      throw new InvalidArgumentError(`path '${target}' appears twice in one upload: the first content was stored`);
    }
    await storeFile(target, content, { user, metadata, context });
    const file: WrittenFile = { name: basename(target), path: target, type: "file" };
    written.set(target, Object.keys(metadata).length === 0 ? file : { ...file, metadata });
  };

  const body = decodedBody(req);
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`no byte of the upload came for ${IDLE_MS / 1000} s`)));
  try {
    if (mediaType.startsWith("multipart/")) {
      await readMultipartFiles(body, contentType, (filename, content) => store(path ?? filename, content));
    } else if (mediaType === "application/octet-stream") {
      await store(path, body.iterator({ destroyOnReturn: false }));
    } else {
      throw new InvalidArgumentError(`an upload is multipart/form-data or application/octet-stream, not '${mediaType}'`);
    }
  } catch (error) {
    throw bodyError(error);
  } finally {
    req.setTimeout(0);
    // What was not read is drained, so that the client gets to the answer.
    if (body !== req) body.destroy();
  }
  sendJson(res, 200, [...written.values()]);
}

function decodedBody(req: IncomingMessage): Readable {
  const coding = req.headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (coding === "identity" || coding === "") return req;
  if (coding !== "gzip") throw new InvalidArgumentError(`Content-Encoding '${coding}' is not supported: use gzip or identity`);
  const decoded = createGunzip({ chunkSize: 64 * 1024 });
  feed(req, decoded);
  return decoded;
}

function bodyError(error: unknown): unknown {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = errnoCode(cause);
    if (code?.startsWith("Z_"))
      return new InvalidArgumentError(`the gzip body is corrupt or incomplete: ${cause.message}`, { cause: error });
    if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE") {
      return new InvalidArgumentError("the upload broke off: nothing of the unfinished file was kept", { cause: error });
    }
  }
  return error;
}
