// Starts examples/command-server.ts in a sandbox on this machine and runs its commands from outside, with their types.
import { CommandArgumentError, CommandNotFoundError, NamedCommandError, Sandbox } from "@agent-sandbox/sdk";
import { startCommandServer } from "@agent-sandbox/sdk/node";
import type { commands } from "./command-server.ts";

await using sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { example: "command-server" } });
await startCommandServer(sandbox, new URL("./command-server.ts", import.meta.url));

for (const { name, args, source } of await sandbox.listCommands()) {
  console.log(`${name}(${args.map((arg) => `${arg.name}${arg.required ? "" : "?"}: ${arg.type}`).join(", ")}) from the ${source}`);
}

console.log(await sandbox.run("hello", { name: "Ada" }));

const guest = sandbox.named<typeof commands>();
const { greeting } = await guest.run("hello", { name: "Grace", times: 2 });
console.log(greeting);

await sandbox.commands.run("mkdir -p data && for i in 1 2 3; do head -c 1000 /dev/zero > data/$i; done");
const total = await guest.run("measure", { path: "/home/user/data" }, { onProgress: ({ done, of }) => console.log(`${done} of ${of}`) });
console.log(`${total.files} files, ${total.bytes} bytes`);

const attempts = [
  () => sandbox.run("helo", { name: "Ada" }),
  () => sandbox.run("hello", { nmae: "Ada" }),
  () => guest.run("divide", { dividend: 1, divisor: 0 }),
];
for (const attempt of attempts) {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof CommandNotFoundError) console.log(`no such command; there are ${error.available.join(", ")}`);
    else if (error instanceof CommandArgumentError)
      console.log(`wrong argument ${error.argument}; it takes ${error.expected.map(({ name }) => name)}`);
    else if (error instanceof NamedCommandError) console.log(`it failed with ${error.errorType}`);
    else throw error;
  }
}
