import type { PathContext } from "../path-resolver.js";
import type { UserContext } from "../users.js";
import type { FileMetadata } from "./file-metadata.js";

/** What every file operation needs to know about the sandbox. */
export interface FileContext extends UserContext, PathContext {
  readonly metadata: FileMetadata;
}

/** Join the state of the daemon, whose defaults may change with `/init`, and the metadata store. */
export function createFileContext(state: UserContext & PathContext, metadata: FileMetadata): FileContext {
  return {
    metadata,
    users: state.users,
    get defaultUser() {
      return state.defaultUser;
    },
    get defaultWorkdir() {
      return state.defaultWorkdir;
    },
  };
}
