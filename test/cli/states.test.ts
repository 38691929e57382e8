import { afterAll, expect, it } from "vitest";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv, runAbx } from "../support/run-abx.js";

describeOnPlatform("states from the shell", (platform) => {
  const env = platformEnv(platform);
  const abx = async (...args: string[]) => {
    const { status, stdout, stderr } = await runAbx(args, { env });
    return { status, stdout: stdout.trim(), stderr };
  };
  const made: string[] = [];
  afterAll(() => abx("kill", ...made));

  it("pauses, resumes, keeps files, copies and tells about it", async () => {
    const id = (await abx("create", "--timeout", "120")).stdout;
    made.push(id);
    await abx("exec", id, "--", "sh", "-c", "echo kept > a.txt");
    expect((await abx("pause", id)).status).toBe(0);
    expect(await abx("pause", id, "--json")).toMatchObject({ status: 0, stdout: expect.stringContaining('"wasRunning": false') });
    expect(JSON.parse((await abx("info", id, "--json")).stdout)).toMatchObject({ state: "paused", memoryState: "kept" });
    expect(await abx("resume", id, "--reboot", "--json")).toMatchObject({ status: 0, stdout: expect.stringContaining('"rebooted"') });

    const snapshot = (await abx("snapshot", "create", id)).stdout;
    expect((await abx("snapshot", "list", "--sandbox", id)).stdout).toContain(snapshot);
    const copy = (await abx("create", snapshot, "--timeout", "120")).stdout;
    made.push(copy);
    expect((await abx("exec", copy, "--", "cat", "a.txt")).stdout).toBe("kept");
    expect((await abx("snapshot", "delete", snapshot)).status).toBe(0);
    expect((await abx("snapshot", "delete", snapshot)).status).toBe(4);

    const forked = JSON.parse((await abx("fork", id, "--count", "2", "--timeout", "120", "--json")).stdout) as { sandboxIds: string[] };
    expect(forked).toMatchObject({ errors: [], memory: false });
    made.push(...forked.sandboxIds);
    expect((await abx("exec", String(forked.sandboxIds[1]), "--", "cat", "a.txt")).stdout).toBe("kept");

    const { stdout } = await abx("logs", id);
    expect(stdout).toMatch(/created from template base[\s\S]*paused with its memory[\s\S]*started anew[\s\S]*snapshot[\s\S]*copied/);
    expect((await abx("logs", id, "--level", "loud")).status).toBe(2);
    expect((await abx("metrics", id, "--json")).status).toBe(0);
    expect((await abx("kill", id)).status).toBe(0);
  }, 90_000);
});
