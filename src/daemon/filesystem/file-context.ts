import type { LibcLoader } from "../native/libc.js";
import type { PathContext } from "../path-resolver.js";
import type { UserContext } from "../users.js";
import { createFileMetadata, type FileMetadata } from "./file-metadata.js";

/** What every file operation needs to know about the sandbox. */
export interface FileContext extends UserContext, PathContext {
  readonly metadata: FileMetadata;
  readonly libc: LibcLoader;
}

/** Join the state of the daemon, whose defaults may change with `/init`, and what works on files. */
export function createFileContext(state: UserContext & PathContext, libc: LibcLoader): FileContext {
  return {
    metadata: createFileMetadata(libc),
    libc,
    users: state.users,
    get defaultUser() {
      return state.defaultUser;
    },
    get defaultWorkdir() {
      return state.defaultWorkdir;
    },
  };
}
