import { expectTypeOf, test } from "vitest";
import type { CommandSet, NamedCommands, Sandbox, TypedCommands } from "../../src/index.js";
import { command, defineCommands } from "../../src/server/define-commands.js";

const commands = defineCommands({
  hello: command({
    args: {
      name: "string",
      times: { type: "integer", default: 1 },
      loud: { type: "boolean", required: false },
      ratio: { type: "float", required: true },
    },
    run: (args) => {
      expectTypeOf(args).toEqualTypeOf<{
        readonly name: string;
        readonly times: number;
        readonly ratio: number;
        readonly loud?: boolean | undefined;
      }>();
      return { greeting: args.name, at: new Date(), tags: ["a"], maybe: args.loud };
    },
  }),
  plain: command({ run: async () => 42 }),
  nothing: command({ run: () => {} }),
  count: command({
    args: { to: "integer" },
    async *run({ to }) {
      yield { step: to };
      return `counted to ${to}`;
    },
  }),
});

type Guest = TypedCommands<typeof commands>;
declare const guest: Guest;
declare const sandbox: Sandbox;

test("arguments and results of typed calls come from typeof commands", () => {
  const calls = () => ({
    hello: guest.run("hello", { name: "Ada", ratio: 1.5 }),
    plain: guest.run("plain"),
    nothing: guest.run("nothing", {}),
    count: guest.run("count", { to: 3 }, { onProgress: (progress) => expectTypeOf(progress).toEqualTypeOf<{ step: number }>() }),
  });
  type Calls = ReturnType<typeof calls>;
  expectTypeOf<Calls["hello"]>().resolves.toEqualTypeOf<{ greeting: string; at: string; tags: string[]; maybe: boolean | undefined }>();
  expectTypeOf<Calls["plain"]>().resolves.toEqualTypeOf<number>();
  expectTypeOf<Calls["nothing"]>().resolves.toEqualTypeOf<null>();
  expectTypeOf<Calls["count"]>().resolves.toEqualTypeOf<string>();
});

test("wrong names and arguments do not compile", () => {
  const wrong = () => {
    // @ts-expect-error no such command
    guest.run("helo", { name: "Ada", ratio: 1 });
    // @ts-expect-error a required argument is missing
    guest.run("hello", { name: "Ada" });
    // @ts-expect-error all arguments are missing
    guest.run("hello");
    // @ts-expect-error of another type
    guest.run("hello", { name: 1, ratio: 1 });
    // @ts-expect-error no such argument
    guest.run("hello", { name: "Ada", ratio: 1, nmae: "x" });
    // @ts-expect-error the result is no string
    guest.run("plain") satisfies Promise<string>;
  };
  expectTypeOf(wrong).returns.toEqualTypeOf<void>();
});

test("untyped calls take any name and give unknown, and servers' commands are a CommandSet", () => {
  const call = () => sandbox.run("hello", { name: "Ada" });
  expectTypeOf(call).returns.resolves.toEqualTypeOf<unknown>();
  expectTypeOf(commands).toExtend<CommandSet>();
  const named = () => sandbox.named<typeof commands>();
  expectTypeOf(named).returns.toEqualTypeOf<Guest>();
  expectTypeOf<Guest["list"]>().toEqualTypeOf<NamedCommands["list"]>();
});
