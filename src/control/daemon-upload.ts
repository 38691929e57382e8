import { createReadStream } from "node:fs";
import { request } from "node:http";
import { pipeline } from "node:stream/promises";
import { InternalError } from "../errors/error-classes.js";
import type { SandboxLink } from "./sandbox-link.js";

/**
 * Put a file of the host into a sandbox, owned by its root.
 *
 * @throws {@link InternalError} the daemon refused it; `signal.reason`.
 */
export async function uploadToDaemon(link: SandboxLink, file: string, path: string, signal: AbortSignal): Promise<void> {
  const outgoing = request({
    agent: link.agent,
    method: "POST",
    path: `/files?${new URLSearchParams({ path, username: "root" })}`,
    headers: { host: "localhost", "content-type": "application/octet-stream" },
    signal,
  });
  const answered = new Promise<void>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        if (response.statusCode === 200) resolve();
        else reject(new InternalError(`the sandbox did not take the files: ${Buffer.concat(chunks).toString().slice(0, 300)}`));
      });
    });
  });
  try {
    await Promise.all([pipeline(createReadStream(file), outgoing), answered]);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
