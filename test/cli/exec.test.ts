import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, type AbxRun, platformEnv, runAbx } from "../support/run-abx.js";

describeOnPlatform("abx exec", (platform) => {
  const env = platformEnv(platform);
  let sandbox: Sandbox;
  beforeAll(async () => {
    const { apiUrl, sandboxUrl, apiKey } = platform;
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
  });
  afterAll(() => sandbox.kill());

  const exec = (words: readonly string[], options: { readonly flags?: readonly string[]; readonly input?: string } = {}): Promise<AbxRun> =>
    runAbx(["exec", ...(options.flags ?? []), sandbox.sandboxId, "--", ...words], {
      env,
      ...(options.input !== undefined && { input: options.input }),
    });

  /** Runs a shell line of the host in which `$abx` is the program; resolves to what the line wrote. */
  const hostShell = async (line: string): Promise<string> => {
    const child = spawn("bash", ["-c", line], {
      env: { ...env, PATH: process.env.PATH, abx: `${process.execPath} ${ABX}`, id: sandbox.sandboxId },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let written = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        written += text;
      });
    }
    await once(child, "close");
    return written;
  };

  it("CLI-01: hands arguments to the command as they are", async () => {
    const words = ["a b", "$HOME", "", "*", "-n", "a;b", "é", "--help", "it's", "--", "`id`"];
    expect(await exec(["printf", "%s|", ...words])).toMatchObject({ status: 0, stdout: `${words.join("|")}|`, stderr: "" });
  });

  it("CLI-01: ends with the status of the command, or 128 and the signal that ended it", async () => {
    expect((await exec(["sh", "-c", "exit 42"])).status).toBe(42);
    expect((await exec(["sh", "-c", "kill -KILL $$"])).status).toBe(137);
    expect((await exec(["sh", "-c", "kill -TERM $$"])).status).toBe(143);
    expect((await exec(["no-such-program"])).status).toBe(127);
  });

  it("CLI-01: keeps stdout and stderr apart", async () => {
    expect(await exec(["sh", "-c", "echo out; echo err >&2"])).toMatchObject({ status: 0, stdout: "out\n", stderr: "err\n" });
  });

  it("forwards piped input to its end, and sees the end of an empty one", async () => {
    const input = "line\n".repeat(20_000);
    expect(await exec(["wc", "-c"], { input })).toMatchObject({ status: 0, stdout: `${input.length}\n` });
    expect(await exec(["cat"])).toMatchObject({ status: 0, stdout: "" });
    expect((await exec(["true"], { input })).status).toBe(0);
  });

  it("CLI-03: ends quietly when the reader of its output goes away, and the command ends too", async () => {
    expect(await hostShell('$abx exec "$id" -- yes marker-of-this-test | head -1')).toBe("marker-of-this-test\n");
    expect((await exec(["sh", "-c", "pgrep -f '^yes marker-of-this-test' || echo none"])).stdout).toBe("none\n");
  });

  it("CLI-03: says in one line that its output cannot be written, and the command ends", async () => {
    for (const args of ["list", "exec $id -- yes", "files read $id /etc/passwd"]) {
      expect(await hostShell(`$abx ${args} >/dev/full; echo $?`)).toMatch(
        /^abx: stdout cannot be written, [^\n]*no space left[^\n]*\n1\n$/,
      );
    }
  });

  it("ends the command when it is asked to end itself", async () => {
    const child = spawn(process.execPath, [ABX, "exec", sandbox.sandboxId, "--", "sh", "-c", "echo up; exec sleep 1000.5"], {
      env: { ...env, PATH: process.env.PATH },
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
    expect((await exec(["sh", "-c", "pgrep -f '^sleep 1000.5' || echo none"])).stdout).toBe("none\n");
  });

  it("takes directory, user, variables and a timeout", async () => {
    const flags = ["--cwd", "/tmp", "--user", "root", "--env", "A=b=c"];
    expect((await exec(["sh", "-c", "pwd; id -un; echo $A"], { flags })).stdout).toBe("/tmp\nroot\nb=c\n");
    expect((await exec(["sleep", "60"], { flags: ["--timeout", "1"] })).status).toBe(5);
  });

  it("reports as JSON", async () => {
    const { status, stdout } = await exec(["sh", "-c", "echo out; echo err >&2; exit 3"], { flags: ["--json"] });
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toEqual({ exitCode: 3, signal: null, stdout: "out\n", stderr: "err\n" });
  });

  it("ends with status 4 for an unknown sandbox", async () => {
    expect((await runAbx(["exec", "nosuchsandbox", "--", "true"], { env })).status).toBe(4);
    expect((await runAbx(["info", "nosuchsandbox"], { env })).status).toBe(4);
    expect((await runAbx(["kill", "nosuchsandbox"], { env })).status).toBe(4);
  });

  it("ends with status 3 for a wrong key", async () => {
    expect((await runAbx(["list"], { env: { ...env, AGENT_SANDBOX_API_KEY: "e2b_00" } })).status).toBe(3);
  });

  it("creates, shows, lists by label and kills", async () => {
    const created = await runAbx(["create", "--timeout", "60", "-m", "suite=cli", "--json"], { env });
    const { sandboxId } = JSON.parse(created.stdout) as { sandboxId: string };
    expect(JSON.parse((await runAbx(["info", sandboxId, "--json"], { env })).stdout)).toMatchObject({
      sandboxId,
      state: "running",
      metadata: { suite: "cli" },
    });
    const listed = await runAbx(["list", "-m", "suite=cli", "--json"], { env });
    expect((JSON.parse(listed.stdout) as { sandboxId: string }[]).map((info) => info.sandboxId)).toEqual([sandboxId]);
    expect(JSON.parse((await runAbx(["kill", sandboxId, "--json"], { env })).stdout)).toEqual({ killed: [sandboxId], notFound: [] });
  });
});
