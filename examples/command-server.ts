// A typed command server: what an agent may do in its sandbox, as named commands. examples/command-client.ts starts it there and calls it.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { command, defineCommands, defineRoute, startServer } from "@agent-sandbox/sdk/server";

export const commands = defineCommands({
  hello: command({
    description: "Greets somebody.",
    args: { name: "string", times: { type: "integer", default: 1 } },
    run: ({ name, times }) => ({ greeting: `Hello, ${name}!`.repeat(times), at: new Date() }),
  }),

  // A generator reports on its way; what it returns is the result.
  measure: command({
    description: "Adds up the sizes of the files in a directory.",
    args: { path: "string" },
    async *run({ path }, { signal }) {
      const names = await readdir(path);
      let bytes = 0;
      for (const [index, name] of names.entries()) {
        signal.throwIfAborted();
        bytes += (await stat(join(path, name))).size;
        yield { done: index + 1, of: names.length };
      }
      return { files: names.length, bytes };
    },
  }),

  divide: command({
    args: { dividend: "float", divisor: "float" },
    run: ({ dividend, divisor }) => {
      if (divisor === 0) throw new RangeError("nothing can be divided by zero");
      return dividend / divisor;
    },
  }),
});

const time = defineRoute({ method: "GET", path: "/time/{zone}", handle: ({ params }) => ({ zone: params.zone, at: new Date() }) });

await startServer(commands, { routes: [time] });
