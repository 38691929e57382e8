import type { Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { InvalidArgumentError } from "../../errors/error-classes.js";

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
  /** Settles when every part before the newest is stored: those have all their bytes. */
  let earlier: Promise<void> = Promise.resolve();
  let storing: Promise<void> = Promise.resolve();
  let failure: { readonly error: unknown } | undefined;
  let onFailure = (): void => {};
  /** Resolves with the step, or at once when something fails. `Promise.race` with one long-lived promise would keep every step alive. */
  const orFailure = (start: (done: () => void) => void): Promise<void> =>
    new Promise((resolve) => {
      onFailure = resolve;
      if (failure === undefined) start(resolve);
      else resolve();
    });

  const fail = (error: unknown): void => {
    failure ??= { error: malformed(error) };
    // A part that waits for bytes would wait for ever.
    const cause = error instanceof Error ? error : new Error(String(error));
    for (const part of open) part.destroy(cause);
    parser.destroy();
    onFailure();
  };

  parser.on("error", fail);
  parser.on("file", (name, part, filename) => {
    part.on("error", () => {});
    if (name !== FIELD || failure !== undefined) {
      part.resume();
      return;
    }
    open.add(part);
    earlier = storing;
    storing = storing.then(async () => {
      if (failure !== undefined) return;
      await store(filename === undefined ? undefined : decodeFilename(filename), part);
      open.delete(part);
    });
    storing.catch(fail);
  });

  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      await orFailure((done) => void parser.write(chunk, () => done()));
      // Thousands of small parts fit into little input; each waits here for those before it.
      await orFailure((done) => void earlier.then(done, done));
      if (failure !== undefined) break;
    }
    await orFailure((done) => void parser.once("finish", done).end());
  } catch (error) {
    fail(error);
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
