import type { IncomingMessage, ServerResponse } from "node:http";
import type { FileContext } from "../filesystem/file-context.js";
import { sendException, sendHttpError } from "../http-response.js";
import { resolvePath } from "../path-resolver.js";
import { resolveUser } from "../users.js";
import { sendFile } from "./download.js";
import { assertFileAccess } from "./files-auth.js";
import { receiveFiles } from "./upload.js";

/** What {@link handleFiles} needs of the daemon. */
export interface FilesDeps {
  readonly context: FileContext;
  /** The token of the sandbox, read at each request; `undefined` leaves it open. */
  readonly state: { readonly accessToken: string | undefined };
}

/**
 * `GET /files` and `POST /files`. Checks access itself, since a signed URL may stand in for the token. Resolves when the answer is
 * complete or the connection is cut; never rejects.
 */
export async function handleFiles(req: IncomingMessage, res: ServerResponse, deps: FilesDeps): Promise<void> {
  try {
    const query = parseQuery(req.url ?? "");
    if (req.method !== "GET" && req.method !== "POST") {
      return sendHttpError(res, 405, `'/files' takes GET, POST, not ${req.method}`, { allow: "GET, POST" });
    }
    await assertFileAccess(req, query, req.method === "GET" ? "read" : "write", deps.state.accessToken);
    const user = resolveUser(query.get("username") ?? undefined, deps.context);
    const path = query.get("path") ?? undefined;
    if (req.method === "GET") await sendFile(req, res, resolvePath(path ?? "", user, deps.context));
    else await receiveFiles(req, res, path || undefined, user, deps.context);
  } catch (error) {
    sendException(res, error);
  }
  // A client that still sends its body reads the answer only afterwards.
  if (!req.complete) req.resume();
}

function parseQuery(url: string): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start < 0 ? "" : url.slice(start + 1));
}
