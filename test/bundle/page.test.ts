import { describe, expect, it } from "vitest";
import { describeOnPlatform } from "../support/platform.js";
import { bundleFor } from "./support/bundle.js";
import { findChromium, runInPage } from "./support/chromium.js";

/** Bundled as an application would; everything happens in the page. */
const PAGE = `
  import { Sandbox } from "@agent-sandbox/sdk";
  async function use(options) {
    const sandbox = await Sandbox.create(options);
    try {
      await sandbox.files.write("page.txt", new Blob(["from the page"]));
      const lines = [];
      const { stdout } = await sandbox.commands.run("cat page.txt; echo; uname -s", { onStdout: (line) => void lines.push(line) });
      const decoder = new TextDecoder();
      let screen = "";
      const shown = Promise.withResolvers();
      const onData = (data) => {
        screen += decoder.decode(data, { stream: true });
        if (screen.includes("term-42")) shown.resolve();
      };
      const session = await sandbox.pty.create({ cols: 80, rows: 24, onData });
      await session.sendInput("echo term-$((40+2))\\n");
      await shown.promise;
      await session.resize({ cols: 100, rows: 30 });
      const isEnded = await session.kill();
      return { stdout, streamed: lines.join("") === stdout, isEnded, hasProcess: "process" in globalThis };
    } finally {
      await sandbox.kill();
    }
  }
  const report = (value) => fetch("/report", { method: "POST", body: JSON.stringify(value) });
  use(globalThis.sandboxOptions).then(report, (error) => report({ failed: String(error?.stack ?? error), cause: String(error?.cause) }));
`;

const chromium = findChromium();
if (chromium === undefined && process.env.CI) {
  it("a page in Chromium", () => expect.fail("there is no Chromium: install the package chromium, as .ci/run does"));
} else if (chromium === undefined) {
  describe.skip("a page in Chromium (skipped: there is none; install the package chromium)", () => undefined);
} else {
  describeOnPlatform("a page in Chromium", ({ apiUrl, sandboxUrl, apiKey }) => {
    it.each(["@agent-sandbox/sdk", "@agent-sandbox/sdk/e2b"])(
      "makes a sandbox by %s, runs a command and uses a terminal",
      async (entry) => {
        const { code } = await bundleFor("browser", PAGE.replace('"@agent-sandbox/sdk"', JSON.stringify(entry)));
        const script = `globalThis.sandboxOptions = ${JSON.stringify({ apiUrl, sandboxUrl, apiKey })};\n${code}`;
        expect(await runInPage(chromium, script)).toEqual({
          stdout: "from the page\nLinux\n",
          streamed: true,
          isEnded: true,
          hasProcess: false,
        });
      },
    );
  });
}
