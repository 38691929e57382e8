// Checked by tsc alone: what the declarations of the package e2b offer, ours take and give. Each `Expect` names what is missing.
import type * as Ours from "@agent-sandbox/sdk/e2b";
import type * as Theirs from "e2b";

type Expect<Nothing extends never> = Nothing;

/** Public members of `T` that `O` lacks. */
type Missing<T, O> = Exclude<keyof T, keyof O>;

/** Methods of `T` whose arguments `O` does not take. */
type Refused<T, O> = {
  [K in keyof T & keyof O]: T[K] extends (...args: infer A) => unknown ? (O[K] extends (...args: A) => unknown ? never : K) : never;
}[keyof T & keyof O];

/** Methods of `T` whose results have something that those of `O` lack. */
type Poorer<T, O> = {
  [K in keyof T & keyof O]: T[K] extends (...args: never[]) => infer R
    ? O[K] extends (...args: never[]) => infer S
      ? [Awaited<S>] extends [Readable<Awaited<R>>]
        ? never
        : K
      : K
    : never;
}[keyof T & keyof O];

/** `T` as its readers see it: without private members and mutability, enumerations as their values. */
type Readable<T> = T extends string
  ? string extends T
    ? string
    : `${T}`
  : T extends Date | Uint8Array | Blob | ReadableStream | Error
    ? T
    : T extends (...args: never[]) => unknown
      ? unknown
      : T extends readonly (infer E)[]
        ? readonly Readable<E>[]
        : T extends object
          ? { readonly [K in keyof T]: Readable<T[K]> }
          : T;

type Bad<T, O> = Missing<T, O> | Refused<T, O> | Poorer<T, O>;

/** Names that only programs below the API of e2b use; docs/migrate-from-e2b.md lists them. */
type LowLevelName = "ApiClient" | "ConnectionConfig" | "TemplateBase";
type LowLevelField = "domain" | "debug" | "proxy";
/** Overloads by format, and callbacks that get an enumeration: those of another package are never the same. The program has all forms. */
type InProgram = "read" | "readFile" | "watchDir";
/** Theirs also take `Buffer` and `URL` for paths. */
type WithPath = "copy" | "copyItems" | "remove" | "rename" | "makeDir" | "makeSymlink" | "setWorkdir" | "gitClone";
type WithReadyCommand = "setStartCmd" | "setReadyCmd";

export type Checks = [
  Expect<Exclude<Missing<typeof Theirs, typeof Ours>, LowLevelName>>,
  // The classes of results are compared below, and factories by the program beside this file.
  Expect<Bad<Omit<typeof Theirs.Sandbox, "create" | "connect" | "fork" | "prototype">, typeof Ours.Sandbox>>,
  Expect<Bad<Omit<Theirs.Sandbox, "files" | "commands" | "pty" | "git" | "connect" | "fork">, Ours.Sandbox>>,
  Expect<Bad<Omit<Theirs.Filesystem, InProgram>, Ours.Filesystem>>,
  Expect<Bad<Theirs.Commands, Ours.Commands>>,
  Expect<Bad<Theirs.Pty, Ours.Pty>>,
  Expect<Bad<Theirs.Git, Ours.Git>>,
  Expect<Bad<Theirs.CommandHandle, Ours.CommandHandle>>,
  Expect<Bad<Theirs.WatchHandle, Ours.WatchHandle>>,
  Expect<Bad<Theirs.SandboxPaginator, Ours.SandboxPaginator>>,
  Expect<Bad<Theirs.SnapshotPaginator, Ours.SnapshotPaginator>>,
  Expect<Bad<Omit<typeof Theirs.Volume, "create" | "connect" | "prototype">, typeof Ours.Volume>>,
  Expect<Bad<Omit<Theirs.Volume, InProgram | LowLevelField>, Ours.Volume>>,
  Expect<Bad<Omit<typeof Theirs.Secret, "prototype">, typeof Ours.Secret>>,
  Expect<Missing<Omit<typeof Theirs.Template, "prototype">, typeof Ours.Template>>,
  Expect<Bad<Omit<Theirs.TemplateBuilder, WithPath | WithReadyCommand>, Ours.TemplateBuilder>>,
  Expect<Missing<Theirs.TemplateBuilder, Ours.TemplateBuilder>>,
  Expect<Missing<Theirs.E2B, Ours.E2B>>,
  Expect<Bad<Theirs.CommandExitError, Ours.CommandExitError>>,
  Expect<Bad<Theirs.SandboxError, Ours.SandboxError>>,
];
