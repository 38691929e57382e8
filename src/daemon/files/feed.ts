import type { Readable, Writable } from "node:stream";

/**
 * Pipe `source` into `target`. A source that breaks off destroys the target with the reason; a target that fails leaves the source intact
 * and drains it, so that a request's answer can still be sent and read (`stream.pipeline` would cut the connection).
 */
export function feed(source: Readable, target: Writable): void {
  source.once("error", (error) => target.destroy(error));
  source.once("close", () => {
    if (!source.readableEnded)
      target.destroy(Object.assign(new Error("the source ended too early"), { code: "ERR_STREAM_PREMATURE_CLOSE" }));
  });
  target.once("close", () => {
    source.unpipe(target);
    source.resume();
  });
  source.pipe(target);
}
