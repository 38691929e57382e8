import { expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("a platform that is known by the URL of its API and its key alone", (platform) => {
  it("runs commands, moves files, has terminals and gives URLs of files", async () => {
    await using sandbox = await Sandbox.create({ platform: "cloud", apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    expect((await sandbox.commands.run("echo here")).stdout).toBe("here\n");
    await sandbox.files.write("/tmp/a", "text");
    expect(await sandbox.files.read("/tmp/a")).toBe("text");
    const url = await sandbox.downloadUrl("/tmp/a");
    expect(new URL(url).origin).toBe(platform.apiUrl);
    expect(await (await fetch(url)).text()).toBe("text");
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24 });
    expect(await terminal.kill()).toBe(true);
  });
});
