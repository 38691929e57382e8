import type { BlobResourceContents, Resource, ResourceTemplate, TextResourceContents } from "@modelcontextprotocol/sdk/types.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { toBase64 } from "../../shared/base64.js";
import type { SandboxSession } from "../sandbox-session.js";
import { QUICK_MS } from "../tool-context.js";

const MAX_RESOURCES = 200;
const MAX_BYTES = 8 * 1024 * 1024;

export const FILE_TEMPLATE: ResourceTemplate = {
  uriTemplate: "sandbox://{sandbox_id}{+path}",
  name: "file of a sandbox",
  description: "A file by its absolute path. The sandbox `default` is the one that tools use.",
};

/** Files in the home directory of the default sandbox. Asking for them makes no sandbox. */
export async function listFileResources(session: SandboxSession): Promise<Resource[]> {
  const sandbox = await session.current();
  if (sandbox === undefined) return [];
  const entries = await sandbox.files.list(".", { depth: 1 });
  return entries
    .filter(({ type }) => type === "file")
    .slice(0, MAX_RESOURCES)
    .map(({ name, path, size }) => ({ uri: `sandbox://${sandbox.sandboxId}${encodePath(path)}`, name, size }));
}

/** @throws {@link InvalidArgumentError} the URI names no file of a sandbox, or the file is too large. */
export async function readFileResource(session: SandboxSession, uri: string): Promise<TextResourceContents | BlobResourceContents> {
  const [, id, encoded] = /^sandbox:\/\/([A-Za-z0-9-]+)(\/.+)$/.exec(uri) ?? [];
  if (id === undefined || encoded === undefined) {
    throw new InvalidArgumentError(`${JSON.stringify(uri)} is not of the form sandbox://<sandbox id>/<absolute path>`);
  }
  const path = decodePath(encoded);
  const bytes = await session.use(id === "default" ? undefined : id, QUICK_MS, (sandbox) =>
    sandbox.files.read(path, { format: "bytes", range: { start: 0, end: MAX_BYTES + 1 } }),
  );
  if (bytes.length > MAX_BYTES) throw new InvalidArgumentError(`${path} has more than ${MAX_BYTES} bytes`);
  try {
    return { uri, mimeType: "text/plain", text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { uri, mimeType: "application/octet-stream", blob: toBase64(bytes) };
  }
}

/** Each name by itself: `?` and `#` are parts of names, and would end the path of a URI. */
function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

function decodePath(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch (cause) {
    throw new InvalidArgumentError(`${JSON.stringify(encoded)} is no path of a URI: a % stands before two hexadecimal digits`, { cause });
  }
}
