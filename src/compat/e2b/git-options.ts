import type { CommandStartOptions } from "../../index.js";

/** What every call of git takes. */
export interface GitRequestOpts extends Pick<CommandStartOptions, "envs" | "user" | "cwd" | "timeoutMs" | "requestTimeoutMs" | "signal"> {}

/** Credentials for the remote. They are told to git alone: no command line, address or file holds them. */
interface GitCredentials {
  readonly username?: string | undefined;
  /** Password or token; needs `username`. */
  readonly password?: string | undefined;
}

export interface GitCloneOpts extends GitRequestOpts, GitCredentials {
  /** Directory to clone into. @defaultValue the last name of the address, in the working directory */
  readonly path?: string | undefined;
  /** Only this branch. */
  readonly branch?: string | undefined;
  /** Commits of history. @defaultValue all */
  readonly depth?: number | undefined;
  /** Keep the credentials in the address of `origin`, readable to everybody in the sandbox. @defaultValue false */
  readonly dangerouslyStoreCredentials?: boolean | undefined;
}

export interface GitInitOpts extends GitRequestOpts {
  readonly bare?: boolean | undefined;
  readonly initialBranch?: string | undefined;
}

export interface GitRemoteAddOpts extends GitRequestOpts {
  /** Fetch from it at once. @defaultValue false */
  readonly fetch?: boolean | undefined;
  /** Give a remote that exists this address. @defaultValue false */
  readonly overwrite?: boolean | undefined;
}

export interface GitCommitOpts extends GitRequestOpts {
  readonly authorName?: string | undefined;
  readonly authorEmail?: string | undefined;
  readonly allowEmpty?: boolean | undefined;
}

export interface GitAddOpts extends GitRequestOpts {
  readonly files?: readonly string[] | undefined;
  /** Everything, where no files are named. @defaultValue true */
  readonly all?: boolean | undefined;
}

/** What a reset does with index and files, as the options of `git reset`. */
export type GitResetMode = "soft" | "mixed" | "hard" | "merge" | "keep";

export interface GitResetOpts extends GitRequestOpts {
  readonly mode?: GitResetMode | undefined;
  /** Commit, branch or tag. @defaultValue HEAD */
  readonly target?: string | undefined;
  /** Only these files; excludes `mode`. */
  readonly paths?: readonly string[] | undefined;
}

export interface GitRestoreOpts extends GitRequestOpts {
  readonly paths: readonly string[];
  readonly staged?: boolean | undefined;
  readonly worktree?: boolean | undefined;
  /** Commit, branch or tag to take them from. */
  readonly source?: string | undefined;
}

export interface GitDeleteBranchOpts extends GitRequestOpts {
  /** Also what is not merged. @defaultValue false */
  readonly force?: boolean | undefined;
}

export interface GitPullOpts extends GitRequestOpts, GitCredentials {
  readonly remote?: string | undefined;
  readonly branch?: string | undefined;
}

export interface GitPushOpts extends GitPullOpts {
  /** Remember the remote as upstream, where a branch is named or checked out. @defaultValue true */
  readonly setUpstream?: boolean | undefined;
}

/** Which configuration: that of the user, of one repository, or of the machine. */
export type GitConfigScope = "global" | "local" | "system";

export interface GitConfigOpts extends GitRequestOpts {
  /** @defaultValue "global" */
  readonly scope?: GitConfigScope | undefined;
  /** Repository; needed for `local`. */
  readonly path?: string | undefined;
}

export interface GitDangerouslyAuthenticateOpts extends GitRequestOpts {
  readonly username: string;
  readonly password: string;
  /** @defaultValue "github.com" */
  readonly host?: string | undefined;
  /** @defaultValue "https" */
  readonly protocol?: string | undefined;
}
