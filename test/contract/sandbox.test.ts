import { afterEach, expect, it } from "vitest";
import {
  AuthenticationError,
  type ConnectionOptions,
  InvalidArgumentError,
  Sandbox,
  SandboxNotFoundError,
  TemplateError,
  TimeoutError,
} from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";

describeOnPlatform("the life of a sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  const options: ConnectionOptions = { apiUrl, sandboxUrl, apiKey };
  const made: Sandbox[] = [];
  const create = async (more: Parameters<typeof Sandbox.create>[1] = {}) => {
    const sandbox = await Sandbox.create("base", { ...options, timeoutMs: 120_000, ...more });
    made.push(sandbox);
    return sandbox;
  };
  afterEach(async () => {
    await Promise.all(made.splice(0).map((sandbox) => sandbox.kill()));
  });

  it("is made, runs commands, keeps files and terminals, and is killed", async () => {
    const sandbox = await create({ envs: { A: "1" }, metadata: { test: "life" } });
    expect(await sandbox.isRunning()).toBe(true);
    expect(await sandbox.commands.run("echo $A; id -un; pwd")).toMatchObject({ stdout: "1\nuser\n/home/user\n", exitCode: 0 });
    await sandbox.files.write("x.txt", "é日🚀");
    expect(await sandbox.files.read("x.txt")).toBe("é日🚀");
    expect(await sandbox.files.getInfo("x.txt")).toMatchObject({ owner: "user", group: "user", permissions: "-rw-r--r--" });
    let text = "";
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      envs: { B: "2" },
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await terminal.sendStdin('echo "[$A $B]"; exit\n');
    await terminal.wait();
    expect(text).toContain("[1 2]");
    expect(await sandbox.kill()).toBe(true);
    expect(await sandbox.kill()).toBe(false);
    expect(await sandbox.isRunning()).toBe(false);
    await expect(sandbox.commands.run("true")).rejects.toBeInstanceOf(SandboxNotFoundError);
    await expect(sandbox.getInfo()).rejects.toBeInstanceOf(SandboxNotFoundError);
    await expect(Sandbox.connect(sandbox.sandboxId, options)).rejects.toBeInstanceOf(SandboxNotFoundError);
  });

  it("the owner's block kills it, and a borrowed one lives on", async () => {
    let sandboxId: string;
    {
      await using owned = await Sandbox.create("base", options);
      sandboxId = owned.sandboxId;
      const borrowed = await Sandbox.connect(sandboxId, options);
      expect(Symbol.asyncDispose in borrowed).toBe(false);
      expect((await borrowed.commands.run("echo hi")).stdout).toBe("hi\n");
    }
    expect(await Sandbox.kill(sandboxId, options)).toBe(false);
  });

  it("TYP-07: a derived class makes its own instances, and a detached factory plain ones", async () => {
    class Mine extends Sandbox {
      readonly x = 1;
    }
    const mine = await Mine.create(options);
    made.push(mine);
    expect(mine.x).toBe(1);
    const joined: Mine = await Mine.connect(mine.sandboxId, options);
    expect(joined).toBeInstanceOf(Mine);
    const { create: detached } = Sandbox;
    const plain = await detached(options);
    made.push(plain);
    expect(plain).toBeInstanceOf(Sandbox);
  });

  it("its end is moved exactly by setTimeout and never nearer by connect", async () => {
    const sandbox = await create({ timeoutMs: 300_000 });
    const before = await sandbox.getInfo();
    expect(before).toMatchObject({ sandboxId: sandbox.sandboxId, state: "running", templateId: expect.any(String) });
    expect(before.endAt.getTime() - before.startedAt.getTime()).toBeCloseTo(300_000, -3);
    await Sandbox.connect(sandbox.sandboxId, { ...options, timeoutMs: 1_000 });
    expect((await sandbox.getInfo()).endAt).toEqual(before.endAt);
    await sandbox.setTimeout(60_000);
    expect((await sandbox.getInfo()).endAt.getTime()).toBeLessThan(before.endAt.getTime());
    await sandbox.setTimeout(0);
    await expect.poll(() => sandbox.isRunning()).toBe(false);
  });

  it("LIF-03: a life beyond what the wire counts is refused, and 25 days are kept", async () => {
    for (const timeoutMs of [-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
      await expect(Sandbox.create({ ...options, timeoutMs })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    const days25 = 25 * 86_400_000;
    const sandbox = await create({ timeoutMs: days25 });
    const { startedAt, endAt } = await sandbox.getInfo();
    expect(endAt.getTime() - startedAt.getTime()).toBeCloseTo(days25, -3);
    expect(await sandbox.isRunning()).toBe(true);
  });

  it("LIF-07: lists are loaded page by page and filtered by metadata", async () => {
    const tag = `list ${crypto.randomUUID()}&=%é`;
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.push((await create({ metadata: { tag } })).sandboxId);
    const list = Sandbox.list({ ...options, query: { metadata: { tag } }, limit: 2 });
    expect(list.hasNext).toBe(true);
    const first = await list.nextItems();
    expect(first.map(({ sandboxId }) => sandboxId)).toEqual([ids[2], ids[1]]);
    expect(first[0]).toMatchObject({ metadata: { tag }, state: "running" });
    expect(list.hasNext).toBe(true);
    expect((await list.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([ids[0]]);
    expect(list.hasNext).toBe(false);
    await expect(list.nextItems()).rejects.toThrow("No more items to fetch");
    const all = await Sandbox.list({ ...options, query: { metadata: { tag } }, order: "asc", limit: 1 }).toArray();
    expect(all.map(({ sandboxId }) => sandboxId)).toEqual(ids);
    await expect(Sandbox.list({ ...options, nextToken: "garbage" }).nextItems()).rejects.toBeInstanceOf(InvalidArgumentError);
    for (const limit of [0, -1, 101, 1.5]) expect(() => Sandbox.list({ ...options, limit })).toThrow(InvalidArgumentError);
  });

  it("LIF-18: an unknown template, a wrong key and a malformed id are typed errors", async () => {
    await expect(Sandbox.create("none-such", options)).rejects.toBeInstanceOf(TemplateError);
    await expect(Sandbox.create({ ...options, apiKey: "wrong" })).rejects.toBeInstanceOf(AuthenticationError);
    await expect(Sandbox.connect("../x", options)).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(await Sandbox.kill("nonexistingsandbox", options)).toBe(false);
    await expect(Sandbox.getInfo("nonexistingsandbox", options)).rejects.toBeInstanceOf(SandboxNotFoundError);
  });

  it("a command in a sandbox that is killed ends with a TimeoutError that says so", async () => {
    const sandbox = await create();
    const handle = await sandbox.commands.start("sleep 60", { timeoutMs: 0 });
    await sandbox.kill();
    const error = await handle.wait().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ timeout: "sandbox", message: expect.stringContaining("killed or reached its end of life") });
  });

  it("signed URLs give one file without a token, until they expire", async () => {
    const sandbox = await create();
    const upload = await sandbox.uploadUrl("in ü.txt", { useSignatureExpiration: 60 });
    const form = new FormData();
    form.append("file", new Blob(["by form"]), "ignored");
    expect((await fetch(upload, { method: "POST", body: form })).status).toBe(200);
    const download = await sandbox.downloadUrl("in ü.txt");
    expect(await (await fetch(download)).text()).toBe("by form");
    const expired = await sandbox.downloadUrl("in ü.txt", { useSignatureExpiration: -10 });
    const answer = await fetch(expired);
    expect(answer.status).toBe(401);
    expect(await answer.json()).toEqual({ code: 401, message: "signature is already expired" });
    // On the shared URL a signature also tells whose file it is, so a forged one leads nowhere.
    expect([401, 404]).toContain((await fetch(download.replace("signature=v1_", "signature=v1_x"))).status);
  });

  it("AUT-07: no credential shows in the printed or serialised object", async () => {
    const sandbox = await create();
    const { inspect } = await import("node:util");
    for (const text of [JSON.stringify(sandbox), inspect(sandbox, { depth: 10, showHidden: true }), String(sandbox)]) {
      expect(text).not.toContain(apiKey);
    }
  });
});
