import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { feed } from "./feed.js";

/** Stores one part; `filename` is the name the part has, directories included. */
export type StorePart = (filename: string | undefined, content: AsyncIterable<Uint8Array>) => Promise<void>;

const FIELD = "file";

/**
 * Read a multipart body and hand each part named `file` to `store`, one after the other in their order; other parts are skipped.
 * The body is read no faster than the parts are stored.
 *
 * @throws {@link InvalidArgumentError} the body is malformed or breaks off; what `store` throws, and no further part is stored then.
 */
export async function readMultipartFiles(body: Readable, contentType: string, store: StorePart): Promise<void> {
  const parser = openParser(contentType);
  const open = new Set<BusboyFileStream>();
  let storing: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;

  const fail = (error: unknown): void => {
    failure ??= { error };
    // A part that waits for bytes would wait for ever.
    const cause = error instanceof Error ? error : new Error(String(error));
    for (const part of open) part.destroy(cause);
    parser.destroy(cause);
  };

  parser.on("file", (name, part, filename) => {
    part.on("error", () => {});
    if (name !== FIELD || failure !== undefined) {
      part.resume();
      return;
    }
    open.add(part);
    storing = storing.then(async () => {
      if (failure !== undefined) return;
      await store(filename === undefined ? undefined : decodeFilename(filename), part);
      open.delete(part);
    });
    storing.catch(fail);
  });

  feed(body, parser);
  try {
    await finished(parser);
  } catch (error) {
    fail(malformed(error));
  }
  await storing.catch(fail);
  if (failure !== undefined) throw failure.error;
}

function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": contentType.replace(/^multipart\/[^;]*/i, "multipart/form-data") },
      preservePath: true,
      isPartAFile: () => true,
    });
  } catch (cause) {
    throw new InvalidArgumentError("the multipart Content-Type has no usable boundary", { cause });
  }
}

/** The three characters that form encoders escape in names (HTML standard, "multipart/form-data encoding algorithm"). */
function decodeFilename(filename: string): string {
  return filename.replace(/%22|%0D|%0A/gi, (sequence) => decodeURIComponent(sequence));
}

function malformed(error: unknown): unknown {
  return error instanceof Error && /multipart|boundary|Part terminated|header/i.test(error.message)
    ? new InvalidArgumentError(`the multipart body is malformed or incomplete: ${error.message}`, { cause: error })
    : error;
}
