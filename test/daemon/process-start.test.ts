import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Process } from "../../gen/proto/process/process_pb.js";
import { openUserDatabase } from "../../src/daemon/user-database.js";
import { asUser, bash, collect, frame, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeAll(async () => {
  sandbox = await startTestDaemon();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const run = (command: string, options: object = {}) =>
  collect(sandbox.process.start({ process: { ...bash(command), ...options }, stdin: false }));

async function codeOf(promise: Promise<unknown>): Promise<{ code: Code; message: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { code, message: rawMessage };
  }
  throw new Error("the call succeeded");
}

describe.each([
  ["binary", true],
  ["JSON", false],
])("Start over %s", (_name, useBinary) => {
  it("STR-03: sends start, data, end in this order and ends the stream", async () => {
    const result = await collect(sandbox.client(Process, useBinary).start({ process: bash("printf out; printf err >&2"), stdin: false }));
    expect(result.events[0]).toBe("start");
    expect(result.events.at(-1)).toBe("end");
    expect(result.events.filter((event) => event === "end")).toHaveLength(1);
    expect(result.stdout.toString()).toBe("out");
    expect(result.stderr.toString()).toBe("err");
    expect(result).toMatchObject({ exitCode: 0, status: "exit status 0", error: undefined });
  });
});

describe("output", () => {
  it("CMD-10: keeps a last line without newline on both streams", async () => {
    const result = await run("printf hello; printf b >&2");
    expect(result.stdout.toString()).toBe("hello");
    expect(result.stderr.toString()).toBe("b");
  });

  it("CMD-12: changes no byte", async () => {
    const result = await run(String.raw`printf 'a\n\nb\r\nc\rd\n\n'; printf '\377\000\200'`);
    expect(result.stdout).toEqual(Buffer.concat([Buffer.from("a\n\nb\r\nc\rd\n\n"), Buffer.from([0xff, 0x00, 0x80])]));
  });

  it("CMD-01: passes multi-byte text on whole, written byte by byte or at once", async () => {
    const slow = await run(
      String.raw`s="é日🚀"; LC_ALL=C; for ((i=0;i<\${#s};i++)); do printf %s "\${s:i:1}"; printf %s "\${s:i:1}" >&2; done`.replaceAll(
        "\\$",
        "$",
      ),
    );
    expect(slow.stdout.toString()).toBe("é日🚀");
    expect(slow.stderr.toString()).toBe("é日🚀");
    const large = await run("for i in {1..8000}; do printf 漢字仮; done");
    expect(large.stdout.toString()).toBe("漢字仮".repeat(8000));
  });

  it("opens /dev/stdout and /dev/stderr like on any shell", async () => {
    const result = await run("echo one > /dev/stdout; echo two > /dev/stderr");
    expect(result.stdout.toString()).toBe("one\n");
    expect(result.stderr.toString()).toBe("two\n");
  });

  it("CMD-04: delivers 100 MB exactly", async () => {
    let size = 0;
    for await (const { event } of sandbox.process.start({ process: bash("yes | head -c 100000000"), stdin: false })) {
      if (event?.event.case === "data") size += event.event.value.output.value?.length ?? 0;
    }
    expect(size).toBe(100_000_000);
  });

  it("waits for a grandchild that keeps the output open, but not after a kill", async () => {
    expect((await run("(sleep 0.3; printf late) & printf early")).stdout.toString()).toBe("earlylate");
    const started = performance.now();
    const stream = sandbox.process.start({ process: bash("setsid sleep 30 & echo $!; exec sleep 30"), stdin: false });
    let pid = 0;
    const killed = await collect(stream, async ({ event }) => {
      if (event.case === "start") pid = event.value.pid;
      if (event.case === "data") await sandbox.process.sendSignal({ process: { selector: { case: "pid", value: pid } }, signal: 9 });
    });
    expect(killed.exitCode).toBe(-1);
    expect(performance.now() - started).toBeLessThan(10_000);
    process.kill(Number(killed.stdout.toString()), "SIGKILL");
  });
});

describe("exit", () => {
  it("CMD-17: reports a status exactly and a signal as a signal", async () => {
    expect(await run("kill -9 $$")).toMatchObject({ exitCode: -1, status: "signal: killed", error: "signal: killed" });
    expect(await run("kill -TERM $$")).toMatchObject({ exitCode: -1, status: "signal: terminated" });
    expect(await run("exit 137")).toMatchObject({ exitCode: 137, status: "exit status 137", error: "exit status 137" });
    expect(await run("exit 255")).toMatchObject({ exitCode: 255 });
    expect(await run("exit -1")).toMatchObject({ exitCode: 255 });
  });

  it("CMD-23: leaves 'not found' and 'not executable' of a shell to the shell", async () => {
    const file = join(sandbox.directory, "plain");
    writeFileSync(file, "text", { mode: 0o644 });
    expect(await run("sudo_missing x")).toMatchObject({ exitCode: 127 });
    expect(await run(file)).toMatchObject({ exitCode: 126 });
  });
});

describe("environment", () => {
  it("CMD-31: passes values exactly and inherits nothing else", async () => {
    const envs = { A: "1\n2", B: "x=y", C: "", E: "ü$`\"'", ["__proto__"]: "own" };
    const result = await collect(sandbox.process.start({ process: { cmd: "env", args: ["-0"], envs }, stdin: false }));
    const seen = Object.fromEntries(
      result.stdout
        .toString()
        .split("\0")
        .filter(Boolean)
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    expect(seen).toMatchObject({
      A: "1\n2",
      B: "x=y",
      C: "",
      E: "ü$`\"'",
      HOME: "/root",
      USER: "root",
      LOGNAME: "root",
      E2B_SANDBOX: "true",
    });
    expect(Object.keys(seen).filter((name) => !/^(A|B|C|E|__proto__|HOME|USER|LOGNAME|PATH|E2B_\w+)$/.test(name))).toEqual([]);
  });

  it.each([["A=B"], [""], ["A\0B"]])("CMD-31: refuses the name %j", async (name) => {
    expect(await codeOf(run("true", { envs: { [name]: "x" } }))).toMatchObject({ code: Code.InvalidArgument });
  });

  it("runs as the user of the request, with its groups and home", async () => {
    const result = await collect(
      sandbox.process.start({ process: bash("id -u; id -g; id -G; echo $HOME $USER; pwd"), stdin: false }, { headers: asUser("nobody") }),
    );
    expect(result.stdout.toString()).toBe("65534\n65534\n65534\n/nonexistent nobody\n/\n");
  });

  it("gives a user its supplementary groups, on pipes and on a terminal", async () => {
    const accounts = join(sandbox.directory, "accounts");
    mkdirSync(accounts, { recursive: true });
    writeFileSync(join(accounts, "passwd"), "worker:x:65534:65534::/tmp:/bin/sh\n");
    writeFileSync(join(accounts, "group"), "nogroup:x:65534:\nstaff:x:50:worker\nvideo:x:44:worker\n");
    await using own = await startTestDaemon({ users: openUserDatabase(accounts), defaultUser: "worker" });
    const command = bash("id -u; id -G; echo $$ $HOME");
    const piped = await collect(own.process.start({ process: command, stdin: false }));
    expect(piped.stdout.toString()).toBe(`65534\n65534 44 50\n${piped.pid} /tmp\n`);
    const typed = await collect(own.process.start({ process: command, pty: {} }));
    expect(typed.pty.toString()).toBe(`65534\r\n65534 44 50\r\n${typed.pid} /tmp\r\n`);
  });

  it.each([
    ["pipes", false],
    ["a terminal", true],
  ])("lets no variable of a request work on a program that is still root, on %s", async (_name, isTerminal) => {
    const accounts = join(sandbox.directory, "loading");
    const traces = join(accounts, `traces-${isTerminal}`);
    mkdirSync(traces, { recursive: true });
    chmodSync(sandbox.directory, 0o711);
    chmodSync(traces, 0o777);
    writeFileSync(join(accounts, "passwd"), "worker:x:65534:65534::/tmp:/bin/sh\n");
    writeFileSync(join(accounts, "group"), "nogroup:x:65534:\nvideo:x:44:worker\n");
    await using own = await startTestDaemon({ users: openUserDatabase(accounts), defaultUser: "worker" });
    // The loader of each program that sees it writes a file as the user which that program is.
    const envs = { LD_DEBUG: "files", LD_DEBUG_OUTPUT: join(traces, "trace") };
    const command = { ...bash("id -G; echo $LD_DEBUG"), envs };
    const result = await collect(own.process.start({ process: command, stdin: false, ...(isTerminal && { pty: {} }) }));
    expect(Buffer.concat([result.stdout, result.pty]).toString().split(/\s+/)).toEqual(["65534", "44", "files", ""]);
    const owners = readdirSync(traces).map((name) => statSync(join(traces, name)).uid);
    expect(new Set(owners)).toEqual(new Set([65534]));
  });

  it("refuses an unknown user", async () => {
    const call = collect(sandbox.process.start({ process: bash("true") }, { headers: asUser("who-is-this") }));
    expect(await codeOf(call)).toMatchObject({ code: Code.Unauthenticated });
  });

  it("starts each process in a group of its own", async () => {
    const result = await run("ps -o pid=,pgid= -p $$");
    const [pid, pgid] = result.stdout.toString().trim().split(/\s+/);
    expect(pid).toBe(pgid);
    expect(Number(pid)).toBe(result.pid);
  });
});

describe("arguments", () => {
  it("names a missing directory, file and program", async () => {
    expect(await codeOf(run("true", { cwd: "/no/such/dir" }))).toEqual({
      code: Code.InvalidArgument,
      message: "cwd '/no/such/dir' does not exist",
    });
    expect(await codeOf(run("true", { cwd: "/etc/passwd" }))).toMatchObject({ code: Code.InvalidArgument });
    for (const cmd of ["", "no-such-program", "/no/such/program", "/etc", "/etc/passwd"]) {
      expect(await codeOf(collect(sandbox.process.start({ process: { cmd } })))).toMatchObject({
        code: Code.InvalidArgument,
        message: expect.stringContaining(cmd),
      });
    }
    expect(await codeOf(collect(sandbox.process.start({})))).toMatchObject({ code: Code.InvalidArgument });
  });

  it("names a script whose interpreter is missing", async () => {
    const file = join(sandbox.directory, "script");
    writeFileSync(file, "#!/no/such/interpreter\n", { mode: 0o755 });
    const error = await codeOf(collect(sandbox.process.start({ process: { cmd: file } })));
    expect(error).toMatchObject({ code: Code.InvalidArgument, message: expect.stringContaining("interpreter") });
  });

  it("resolves cwd like every path and looks programs up in PATH", async () => {
    mkdirSync(join(sandbox.directory, "bin"), { recursive: true });
    writeFileSync(join(sandbox.directory, "bin", "greet"), "#!/bin/sh\npwd\n", { mode: 0o755 });
    const envs = { PATH: `${join(sandbox.directory, "bin")}:/usr/bin:/bin` };
    const result = await collect(sandbox.process.start({ process: { cmd: "greet", cwd: "~", envs }, stdin: false }));
    expect(result.stdout.toString()).toBe("/root\n");
  });

  it.each([
    ["cmd", { cmd: "/bin/true\0x" }],
    ["an argument", { cmd: "/bin/echo", args: ["a\0b"] }],
    ["a variable", { cmd: "/bin/true", envs: { A: "a\0b" } }],
    ["cwd", { cmd: "/bin/true", cwd: "/tmp\0/x" }],
  ])("CMD-35: refuses NUL in %s", async (_what, config) => {
    expect(await codeOf(collect(sandbox.process.start({ process: config })))).toMatchObject({ code: Code.InvalidArgument });
  });

  it("CMD-35: refuses NUL in the tag and half a surrogate pair", async () => {
    expect(await codeOf(collect(sandbox.process.start({ process: bash("true"), tag: "a\0b" })))).toMatchObject({
      code: Code.InvalidArgument,
    });
    const response = await fetch(`${sandbox.baseUrl}/process.Process/Start`, {
      method: "POST",
      headers: { "content-type": "application/connect+json" },
      body: frame('{"process":{"cmd":"/bin/echo","args":["\\ud800"]}}'),
    });
    expect(await response.text()).toContain('"invalid_argument"');
  });

  it("CMD-34: runs 100 KB of arguments and names the size of what is too large", async () => {
    expect((await run(`true ${"x".repeat(100_000)}`)).exitCode).toBe(0);
    expect(await codeOf(run(`true ${"x".repeat(200_000)}`))).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(/size/),
    });
    expect(await codeOf(run("true", { envs: { A: "x".repeat(200_000) } }))).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(/size/),
    });
    const args = Array.from({ length: 60 }, () => "x".repeat(100_000));
    expect(await codeOf(collect(sandbox.process.start({ process: { cmd: "/bin/true", args } })))).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(/size/),
    });
    expect((await run("true")).exitCode).toBe(0);
  });
});

describe("sandbox variables", () => {
  it("writes facts for programs without the environment", () => {
    sandbox.daemon.state.apply({ sandboxId: "s1", templateId: "base", envVars: { A: "1" } });
    expect(existsSync(join(sandbox.directory, "facts", ".E2B_SANDBOX_ID"))).toBe(true);
  });
});
