import { expect, it } from "vitest";
import { CommandExitError, FailedPreconditionError } from "../../src/index.js";
import { openParts } from "../sandbox/support/daemon-sandbox.js";
import { endFrame, frame, openWireServer } from "../transport/support/wire-server.js";
import { hideAmbientSettings } from "./support/ambient-settings.js";

hideAmbientSettings();

it("an exit status that is told only in words is not taken for 0", async () => {
  await using server = await openWireServer((_req, res) => {
    res.writeHead(200, { "content-type": "application/connect+json" });
    res.write(frame({ event: { start: { pid: 7 } } }));
    res.write(frame({ event: { end: { exited: true, status: "exit status 3", error: "exit status 3" } } }));
    res.end(endFrame());
  });
  const { commands } = await openParts(server.url, { isBinary: false });
  const error = await commands.run("exit 3").catch((e: unknown) => e);
  expect(error).toBeInstanceOf(CommandExitError);
  expect(error).toMatchObject({ exitCode: 3 });
});

it("a template without a shell is named as such", async () => {
  await using server = await openWireServer((_req, res) =>
    res.writeHead(500, { "content-type": "text/plain" }).end("fork/exec /bin/bash: no such file or directory"),
  );
  const { commands } = await openParts(server.url, { isBinary: false });
  const error = await commands.run("true").catch((e: unknown) => e);
  expect(error).toBeInstanceOf(FailedPreconditionError);
  expect(String(error)).toMatch(/the template has no \/bin\/bash/);
});
