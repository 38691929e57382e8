import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv, runAbx } from "../support/run-abx.js";

describeOnPlatform("files and processes from the shell", (platform) => {
  const env = platformEnv(platform);
  let sandbox: Sandbox;
  let id: string;
  let directory: string;
  beforeAll(async () => {
    const { apiUrl, sandboxUrl, apiKey } = platform;
    sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    id = sandbox.sandboxId;
    directory = await mkdtemp(path.join(tmpdir(), "abx-files-"));
  });
  afterAll(async () => {
    await sandbox.kill();
    await rm(directory, { recursive: true, force: true });
  });

  const abx = (...args: string[]) => runAbx(args, { env, cwd: directory });
  const json = async (...args: string[]): Promise<unknown> => {
    const { status, stdout, stderr } = await abx(...args, "--json");
    expect({ status, stderr }, args.join(" ")).toEqual({ status: 0, stderr: "" });
    return JSON.parse(stdout);
  };

  it("writes stdin to a file and reads it back byte by byte", async () => {
    const input = "línea\n".repeat(50_000);
    const written = await runAbx(["files", "write", id, "io/in.txt", "--json"], { env, input });
    expect(JSON.parse(written.stdout)).toEqual({ path: "/home/user/io/in.txt", sizeBytes: Buffer.byteLength(input) });
    expect(await abx("files", "read", id, "io/in.txt")).toMatchObject({ status: 0, stdout: input, stderr: "" });
    expect((await abx("files", "read", id, "io/none.txt")).status).toBe(4);
  });

  it("lists, describes, makes, moves and removes", async () => {
    expect(await json("files", "mkdir", id, "d/e")).toEqual({ path: "d/e", made: true });
    expect(await json("files", "mkdir", id, "d/e")).toEqual({ path: "d/e", made: false });
    await sandbox.files.write("/home/user/d/f.txt", "12345");
    expect(await json("files", "list", id, "d")).toMatchObject([
      { path: "/home/user/d/e", type: "dir" },
      { path: "/home/user/d/f.txt", type: "file", sizeBytes: 5, mode: "0644", owner: "user" },
    ]);
    expect((await abx("files", "ls", id, "d", "--quiet")).stdout).toBe("/home/user/d/e\n/home/user/d/f.txt\n");
    expect((await abx("files", "ls", id, "d")).stdout).toMatch(/^MODE .*\ndrwxr-xr-x .* e\/\n-rw-r--r-- .* 5 B .* f\.txt\n$/);
    expect(await json("files", "mv", id, "d/f.txt", "g/h.txt")).toMatchObject({ path: "/home/user/g/h.txt" });
    expect(await json("files", "stat", id, "g/h.txt")).toMatchObject({ name: "h.txt", sizeBytes: 5 });
    expect(await json("files", "rm", id, "d", "g", "never-was")).toEqual({ removed: ["d", "g", "never-was"] });
    expect((await abx("files", "stat", id, "d")).status).toBe(4);
  });

  it("copies a file both ways under the names that cp gives, with its mode", async () => {
    const script = path.join(directory, "run.sh");
    await writeFile(script, "#!/bin/sh\necho ran\n");
    await chmod(script, 0o755);
    expect(await abx("cp", "run.sh", `${id}:`)).toMatchObject({
      status: 0,
      stdout: "",
      stderr: `abx: copied 19 B to ${id}:/home/user/run.sh\n`,
    });
    expect((await abx("exec", id, "--", "./run.sh")).stdout).toBe("ran\n");
    expect(await json("cp", "run.sh", `${id}:new/dir/`)).toMatchObject({ target: "/home/user/new/dir/run.sh", entryCount: 1, bytes: 19 });
    expect(await json("cp", "run.sh", `${id}:new/other.sh`)).toMatchObject({ target: "/home/user/new/other.sh" });
    expect(await abx("cp", "--quiet", `${id}:new/other.sh`, ".")).toMatchObject({ status: 0, stdout: "", stderr: "" });
    expect((await stat(path.join(directory, "other.sh"))).mode & 0o777).toBe(0o755);
    await abx("cp", `${id}:run.sh`, "made/again.sh");
    expect(await readFile(path.join(directory, "made/again.sh"), "utf8")).toContain("echo ran");
  });

  it("copies directories both ways, whole or what is in them, and leaves out what should be", async () => {
    await mkdir(path.join(directory, "tree/sub"), { recursive: true });
    await writeFile(path.join(directory, "tree/a.txt"), "a");
    await writeFile(path.join(directory, "tree/sub/b.log"), "b");
    await symlink("a.txt", path.join(directory, "tree/link"));
    expect((await abx("cp", "tree", `${id}:up`)).status).toBe(0);
    expect((await abx("exec", id, "--", "find", "up", "-mindepth", "1")).stdout.split("\n").sort()).toEqual([
      "",
      "up/a.txt",
      "up/link",
      "up/sub",
      "up/sub/b.log",
    ]);
    expect(await json("cp", "tree", `${id}:up`)).toMatchObject({ target: "up/tree" });
    expect(await json("cp", "tree/.", `${id}:flat`, "--ignore", "*.log")).toMatchObject({ target: "flat" });
    expect((await abx("exec", id, "--", "ls", "-R", "flat")).stdout).not.toContain("b.log");
    expect((await abx("cp", `${id}:up/tree`, "down")).status).toBe(0);
    expect((await readdir(path.join(directory, "down"), { recursive: true })).sort()).toEqual(["a.txt", "link", "sub", "sub/b.log"]);
  });

  it("leaves no part of a file behind when a download fails, and says which side is missing", async () => {
    await mkdir(path.join(directory, "empty"));
    expect((await abx("cp", `${id}:nothing-here`, "empty/")).status).toBe(4);
    expect((await abx("cp", `${id}:nothing-here`, "empty/")).stderr).toContain("abx files list");
    const local = await abx("cp", "not-here", `${id}:`);
    expect([local.status, local.stderr]).toEqual([4, "abx: the local path 'not-here' cannot be read\n"]);
    expect(await abx("cp", "/etc/hostname", "empty/x")).toMatchObject({ status: 2, stdout: "" });
    expect((await abx("cp", `${id}:/etc/hostname`, `${id}:x`)).stderr).toContain("two steps");
    expect(await readdir(path.join(directory, "empty"))).toEqual([]);
  });

  it("writes through links and into devices and pipes, and never takes their place", async () => {
    await sandbox.files.write("out.txt", "from inside\n");
    await writeFile(path.join(directory, "real.txt"), "before");
    await symlink("real.txt", path.join(directory, "to-real"));
    expect((await abx("cp", `${id}:out.txt`, "to-real")).status).toBe(0);
    expect((await lstat(path.join(directory, "to-real"))).isSymbolicLink()).toBe(true);
    expect(await readFile(path.join(directory, "real.txt"), "utf8")).toBe("from inside\n");

    const pipe = path.join(directory, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [copied, received] = await Promise.all([abx("cp", `${id}:out.txt`, "pipe"), readFile(pipe, "utf8")]);
    expect([copied.status, received]).toEqual([0, "from inside\n"]);
    expect((await lstat(pipe)).isFIFO()).toBe(true);
    const device = path.join(directory, "null");
    execFileSync("mknod", [device, "c", "1", "3"]);
    expect((await abx("cp", `${id}:out.txt`, "null")).status).toBe(0);
    expect((await lstat(device)).isCharacterDevice()).toBe(true);
  });

  it("copies a file under the longest name that there can be, and under names of odd characters", async () => {
    const names = ["n".repeat(255), "line\nbreak", "-rf", "é 'q\" $x"];
    for (const name of names) {
      await writeFile(path.join(directory, name), name);
      expect(await abx("cp", "--quiet", "--", `./${name}`, `${id}:odd/`)).toMatchObject({ status: 0, stderr: "" });
      expect(await abx("cp", "--quiet", "--", `${id}:odd/${name}`, "back/")).toMatchObject({ status: 0, stderr: "" });
    }
    expect((await readdir(path.join(directory, "back"))).sort()).toEqual([...names].sort());
  });

  it("shows names of a sandbox so that they cannot steer a terminal, and to programs as they are", async () => {
    const name = "a\u001b[2J\u009b1m\n\u202eb";
    await sandbox.files.write(`steer/${name}`, "x");
    const table = await abx("files", "list", id, "steer");
    expect(table.stdout.split("\n")).toHaveLength(3);
    expect(table.stdout).toContain(String.raw`a\u001b[2J\u009b1m\n\u202eb`);
    expect(await json("files", "list", id, "steer")).toMatchObject([{ name }]);
    const failed = await abx("files", "mkdir", id, `steer/${name}`);
    expect(failed.status).toBe(2);
    expect(failed.stderr).toContain(String.raw`\u001b[2J`);
    expect(failed.stderr).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u);
  });

  it("leaves no part of a file behind when it is interrupted", async () => {
    await sandbox.commands.run("truncate -s 4G huge.bin");
    const target = path.join(directory, "interrupted");
    const child = spawn(process.execPath, [ABX, "cp", `${id}:huge.bin`, `${target}/`], {
      env: { ...env, PATH: process.env.PATH },
      stdio: ["ignore", "inherit", "inherit"],
    });
    const exited = once(child, "exit");
    await vi.waitFor(async () => expect(await readdir(target)).toHaveLength(1), { timeout: 30_000, interval: 10 });
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
    expect(await readdir(target)).toEqual([]);
  });

  it("tells changes as they happen", async () => {
    await sandbox.files.makeDir("watched");
    const child = spawn(process.execPath, [ABX, "files", "watch", id, "watched", "--recursive"], {
      env: { ...env, PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "pipe"],
    });
    expect(String((await once(child.stderr, "data"))[0])).toContain("watching watched");
    await sandbox.files.write("watched/x/y.txt", "1");
    const lines = createInterface({ input: child.stdout });
    for await (const line of lines) if ((JSON.parse(line) as { name: string }).name === "x/y.txt") break;
    const exited = once(child, "exit");
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
  });

  it("starts a process that stays, lists it without its variables, follows it and ends it", async () => {
    const flags = ["--tag", "job", "-e", "SECRET=hidden-value", "--json"];
    const started = await abx("process", "start", ...flags, id, "--", "sh", "-c", "while sleep 0.1; do echo tick; done");
    const { pid } = JSON.parse(started.stdout) as { pid: number };
    const listed = await abx("process", "list", id, "--json");
    expect(JSON.parse(listed.stdout)).toMatchObject([{ pid, tag: "job" }]);
    expect(listed.stdout).not.toContain("hidden-value");
    expect((await abx("ps", "ls", id, "-q")).stdout).toBe(`${pid}\n`);

    const follower = spawn(process.execPath, [ABX, "process", "attach", id, String(pid)], {
      env: { ...env, PATH: process.env.PATH },
      stdio: ["ignore", "pipe", "inherit"],
    });
    expect(String((await once(follower.stdout, "data"))[0])).toContain("tick");
    const left = once(follower, "exit");
    follower.kill("SIGTERM");
    expect(await left).toEqual([143, null]);
    expect((await abx("ps", "ls", id, "-q")).stdout).toBe(`${pid}\n`);

    expect(await abx("process", "signal", id, String(pid), "SIGNOTHING")).toMatchObject({ status: 2, stdout: "" });
    expect((await abx("process", "signal", id, String(pid))).status).toBe(0);
    expect(await abx("process", "attach", id, String(pid))).toMatchObject({ status: 143 });
    expect((await abx("process", "kill", id, String(pid))).status).toBe(4);
    expect((await abx("ps", "ls", id, "-q")).stdout).toBe("");
  });

  it("prints where a port is reached, and tells what all sandboxes use", async () => {
    const { port } = new URL(platform.apiUrl);
    expect((await abx("open", id, "8080", "--path", "/a?b=c")).stdout).toBe(`http://8080-${id}.localhost:${port}/a?b=c\n`);
    expect(await json("open", id, "8080")).toEqual({ url: `http://8080-${id}.localhost:${port}/`, isPublic: true });
    expect((await abx("open", id, "65536")).status).toBe(2);
    const usages = (await json("top")) as { sandboxId: string; state: string }[];
    expect(usages.find(({ sandboxId }) => sandboxId === id)).toMatchObject({ state: "running" });
    // Without a terminal it is one table, and ends.
    expect((await abx("top")).stdout).toMatch(new RegExp(`^ID .*\\n[\\s\\S]*^${id} `, "m"));
  });
});
