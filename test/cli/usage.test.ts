import { describe, expect, it } from "vitest";
import { runAbx } from "../support/run-abx.js";

const NO_SERVER = { AGENT_SANDBOX_API_URL: "http://127.0.0.1:9", AGENT_SANDBOX_API_KEY: "e2b_00" };

describe("abx", () => {
  it("prints its help on stdout with status 0", async () => {
    const run = await runAbx(["--help"]);
    expect(run).toMatchObject({ status: 0, stderr: "" });
    for (const command of ["setup", "doctor", "serve", "create", "list", "info", "exec", "connect", "kill"])
      expect(run.stdout).toContain(command);
  });

  it("ends with status 2 and nothing on stdout for a wrong command line", async () => {
    const lines = [
      ["nonsense"],
      ["info"],
      ["exec", "id"],
      ["create", "--nonsense"],
      ["kill"],
      ["list", "--state", "asleep"],
      ["kill", "a", "--all"],
    ];
    for (const args of lines) {
      const run = await runAbx(args, { env: NO_SERVER });
      expect(run, args.join(" ")).toMatchObject({ status: 2, stdout: "" });
      expect(run.stderr, args.join(" ")).not.toContain("    at ");
    }
  });

  it("CLI-06: refuses numbers and pairs that are none", async () => {
    for (const value of ["abc", "1e3", "-1", "", "08", "5x"]) {
      expect(await runAbx(["create", `--timeout=${value}`], { env: NO_SERVER }), value).toMatchObject({ status: 2, stdout: "" });
    }
    for (const pair of ["NAME", "=value"]) expect((await runAbx(["create", "--env", pair], { env: NO_SERVER })).status, pair).toBe(2);
  });

  it("CLI-08: says in one line what failed when no server answers, also without HOME", async () => {
    const run = await runAbx(["list"], { env: NO_SERVER });
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expect(run.stderr.trim().split("\n")).toHaveLength(1);
  });

  it("reports an error as JSON on stderr when asked for JSON", async () => {
    const run = await runAbx(["info", "some-id", "--json"], { env: NO_SERVER });
    expect(run).toMatchObject({ status: 1, stdout: "" });
    expect(JSON.parse(run.stderr)).toMatchObject({ error: { reason: "connection" } });
  });
});
