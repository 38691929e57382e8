// Our client on the Python container-side runtime, behind an edge that knows one sandbox.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { CommandArgumentError, CommandNotFoundError, NamedCommandError, Sandbox } from "../../../dist/index.js";

/** Checks by name; each gets the sandbox. */
export const CLIENT_CHECKS = {
  "list commands": async (sandbox) => {
    const [hello, fails] = await sandbox.listCommands();
    assert.deepEqual(
      [hello.name, hello.source, hello.args.map(({ name, type, required }) => [name, type, required])],
      [
        "hello",
        "server",
        [
          ["name", "string", true],
          ["times", "integer", false],
        ],
      ],
    );
    assert.equal(fails.name, "fails");
  },
  "run a command": async (sandbox) => {
    assert.equal(await sandbox.run("hello", { name: "Ada", times: 2 }), "Hello, Ada!Hello, Ada!");
    assert.equal(await sandbox.run("secret"), 42);
  },
  "run an unknown one": (sandbox) =>
    assert.rejects(sandbox.run("helo"), (error) => error instanceof CommandNotFoundError && error.available.includes("hello")),
  "run without an argument": (sandbox) =>
    assert.rejects(
      sandbox.run("hello"),
      (error) => error instanceof CommandArgumentError && error.argument === "name" && error.expected[1].name === "times",
    ),
  "run one that fails": (sandbox) =>
    assert.rejects(sandbox.run("fails"), (error) => error instanceof NamedCommandError && error.errorType === "RuntimeError"),
  "tell whether it serves": async (sandbox) => {
    assert.equal(await sandbox.named().isServing(), true);
    assert.equal(await sandbox.named().isServing({ port: 9002 }), false);
  },
};

/** Open a sandbox whose port 9000 is `port` of this machine, and call `use` with it. */
export async function withSandbox(port, use) {
  const edge = createServer((req, res) => {
    const isServer = req.headers["e2b-sandbox-port"] === "9000";
    if (!isServer) {
      const isConnect = req.url.endsWith("/connect");
      res.writeHead(isConnect ? 200 : 404, { "content-type": "application/json" });
      res.end(
        JSON.stringify(
          isConnect
            ? { sandboxID: "ipython", templateID: "base", clientID: "c", envdVersion: "0.6.13" }
            : { code: 404, message: "nothing" },
        ),
      );
      return;
    }
    const upstream = request({ host: "127.0.0.1", port, path: req.url, method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode, answer.headers);
      answer.pipe(res);
    });
    upstream.on("error", () => res.destroy());
    req.pipe(upstream);
  });
  await new Promise((resolve) => edge.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${edge.address().port}`;
  try {
    await use(await Sandbox.connect("ipython", { apiUrl: url, sandboxUrl: url, apiKey: "key", retries: 0 }));
  } finally {
    edge.closeAllConnections();
    edge.close();
  }
}
