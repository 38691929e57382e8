import type { PathContext } from "../path-resolver.js";
import type { UserContext } from "../users.js";
import type { FileMetadata } from "./file-metadata.js";

/** What every file operation needs to know about the sandbox; read at each call, as `/init` may change it. */
export interface FileContext extends UserContext, PathContext {
  readonly metadata: FileMetadata;
}
