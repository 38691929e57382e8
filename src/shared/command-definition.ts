import type { ArgumentSpec, ArgumentSpecs, ArgumentType } from "./command-arguments.js";

/** What a running command gets beside its arguments. */
export interface CommandContext {
  /** Aborts when the caller left: nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** The TypeScript type of an argument's values. */
type ValueOf<S> = S extends "string" | { readonly type: "string" }
  ? string
  : S extends "boolean" | { readonly type: "boolean" }
    ? boolean
    : number;

/** Arguments that a call may leave out. */
type OptionalNames<A> = { [N in keyof A]: A[N] extends { readonly required: false } | { readonly default: unknown } ? N : never }[keyof A];

/** Arguments that a running command may find absent: without a default, nothing takes the place of what was left out. */
type AbsentNames<A> = {
  [N in keyof A]: A[N] extends { readonly default: unknown } ? never : A[N] extends { readonly required: false } ? N : never;
}[keyof A];

type Flat<T> = { [N in keyof T]: T[N] } & {};
type Split<A, Optional> = Flat<
  { readonly [N in keyof A as N extends Optional ? never : N]: ValueOf<A[N]> } & {
    readonly [N in keyof A as N extends Optional ? N : never]?: ValueOf<A[N]> | undefined;
  }
>;

/** Arguments as the command gets them. */
export type ArgumentValues<A extends ArgumentSpecs> = Split<A, AbsentNames<A>>;

/** Arguments as a caller gives them. */
export type ArgumentInput<A> = Split<A, OptionalNames<A>>;

/** A named command: what it takes and what it does. */
export interface Command<A extends ArgumentSpecs = ArgumentSpecs, T = unknown> {
  readonly args: A;
  readonly description: string;
  /** It can be run and is not listed. */
  readonly isHidden: boolean;
  /** What it does, with checked arguments; an async generator reports on its way. */
  readonly run: (args: ArgumentValues<A>, context: CommandContext) => T;
}

/** What of a command a caller's types depend on. */
export interface CommandShape {
  readonly args: Readonly<Record<string, ArgumentType | ArgumentSpec>>;
  readonly run: (args: never, context: CommandContext) => unknown;
}

/** Commands by name; `typeof commands` of a server is one. */
export type CommandSet = Readonly<Record<string, CommandShape>>;

/** A value after its way through JSON. */
export type JsonOf<T> = unknown extends T
  ? unknown
  : T extends { toJSON(): infer J }
    ? J
    : T extends string | number | boolean | null
      ? T
      : // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has exactly this type of result
        T extends undefined | void
        ? null
        : T extends (...args: never) => unknown
          ? never
          : T extends readonly (infer E)[]
            ? JsonOf<E>[]
            : { [N in keyof T]: undefined extends T[N] ? JsonOf<Exclude<T[N], undefined>> | undefined : JsonOf<T[N]> };

/** What a call of the command resolves to. */
export type ResultOf<C extends CommandShape> =
  ReturnType<C["run"]> extends AsyncGenerator<unknown, infer R, unknown> ? JsonOf<R> : JsonOf<Awaited<ReturnType<C["run"]>>>;

/** What the command reports on its way; `never` when it does not. */
export type ProgressOf<C extends CommandShape> = ReturnType<C["run"]> extends AsyncGenerator<infer P, unknown, unknown> ? JsonOf<P> : never;
