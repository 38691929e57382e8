import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

interface Access {
  readonly volumeID: string;
  readonly name: string;
  readonly token: string;
}

let control: TestControl;
beforeAll(async () => {
  control = await startTestControl();
});
afterAll(() => control.stop());

async function createVolume(name: string): Promise<Access> {
  const response = await control.api("POST", "/volumes", { name });
  expect(response.status).toBe(201);
  return (await response.json()) as Access;
}

/** Content call; `target` is `path`, `dir` or `file`. */
function content(volume: Access, method: string, target: string, path: string, query = "", body?: string | Uint8Array<ArrayBuffer>) {
  return fetch(`${control.url}/volumecontent/${volume.volumeID}/${target}?path=${encodeURIComponent(path)}${query}`, {
    method,
    headers: { authorization: `Bearer ${volume.token}` },
    ...(body !== undefined && { body }),
  });
}

const contentDir = (volume: Access) => join(control.paths.volumesDir, volume.volumeID, "content");

describe("volumes", () => {
  it("are created, found, listed by name and deleted with everything in them", async () => {
    const b = await createVolume("b_2");
    const a = await createVolume("a-1");
    expect(await (await control.api("GET", "/volumes")).json()).toEqual([
      { volumeID: a.volumeID, name: "a-1" },
      { volumeID: b.volumeID, name: "b_2" },
    ]);
    expect(await (await control.api("GET", `/volumes/${a.volumeID}`)).json()).toEqual(a);
    expect((await content(a, "PUT", "file", "x/y", "&force=true", "1")).status).toBe(201);
    expect((await control.api("DELETE", `/volumes/${a.volumeID}`)).status).toBe(204);
    expect((await control.api("DELETE", `/volumes/${a.volumeID}`)).status).toBe(404);
    expect((await content(a, "GET", "file", "x/y")).status).toBe(404);
    expect((await control.api("DELETE", `/volumes/${b.volumeID}`)).status).toBe(204);
    expect(readdirSync(control.paths.volumesDir)).toEqual([]);
  });

  it.each(["", "a b", "../x", "a/b", "%2e%2e", "ä", "x".repeat(129)])("refuse the name %j", async (name) => {
    expect((await control.api("POST", "/volumes", { name })).status).toBe(400);
    expect(readdirSync(control.paths.volumesDir)).toEqual([]);
  });

  it("refuse a name that is taken", async () => {
    const volume = await createVolume("taken");
    expect((await control.api("POST", "/volumes", { name: "taken" })).status).toBe(400);
    await control.api("DELETE", `/volumes/${volume.volumeID}`);
  });

  it.each(["..", "%2e%2e", "..%2f..%2ftemplates", "%252e%252e", "vol0", "VOL"])("know no volume %j", async (id) => {
    for (const method of ["GET", "DELETE"]) expect([400, 404]).toContain((await control.api(method, `/volumes/${id}`)).status);
  });
});

describe("the content of a volume", () => {
  let volume: Access;
  beforeAll(async () => {
    volume = await createVolume("content");
  });

  it("is written, described, read, changed, listed and removed", async () => {
    const bytes = new Uint8Array(3_000_000).map((_, index) => index % 251);
    const written = await content(volume, "PUT", "file", "/data/deep/file.bin", "&force=true&uid=7&gid=8&mode=384", bytes);
    expect(written.status).toBe(201);
    const facts = { name: "file.bin", type: "file", path: "/data/deep/file.bin", size: bytes.length, uid: 7, gid: 8, mode: 0o600 };
    expect(await written.json()).toMatchObject(facts);
    const read = await content(volume, "GET", "file", "data/deep/file.bin");
    expect(read.headers.get("content-type")).toBe("application/octet-stream");
    expect(Buffer.compare(Buffer.from(await read.arrayBuffer()), bytes)).toBe(0);

    const changed = await fetch(`${control.url}/volumecontent/${volume.volumeID}/path?path=data/deep/file.bin`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${volume.token}`, "content-type": "application/json" },
      body: JSON.stringify({ uid: 0, mode: 0o640 }),
    });
    expect(await changed.json()).toMatchObject({ uid: 0, gid: 8, mode: 0o640 });

    const list = async (depth: number) =>
      ((await (await content(volume, "GET", "dir", "/", `&depth=${depth}`)).json()) as { path: string }[]).map(({ path }) => path);
    expect(await list(1)).toEqual(["/data"]);
    expect(await list(3)).toEqual(["/data", "/data/deep", "/data/deep/file.bin"]);
    expect((await content(volume, "DELETE", "path", "data")).status).toBe(204);
    expect((await content(volume, "DELETE", "path", "data")).status).toBe(404);
    expect(await list(3)).toEqual([]);
  });

  it("makes directories, with parents and over existing ones only when forced", async () => {
    expect((await content(volume, "POST", "dir", "a/b")).status).toBe(404);
    const made = await content(volume, "POST", "dir", "a/b", "&force=true&mode=448");
    expect(await made.json()).toMatchObject({ type: "directory", mode: 0o700, uid: 1000, gid: 1000 });
    expect((await content(volume, "POST", "dir", "a/b")).status).toBe(400);
    expect((await content(volume, "POST", "dir", "a/b", "&force=true")).status).toBe(201);
    expect((await content(volume, "DELETE", "path", "a")).status).toBe(204);
  });

  it("FIL-16: writers and makers of directories that need the same new parents at once all succeed", async () => {
    const volume = await createVolume("parents");
    const calls = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? content(volume, "PUT", "file", `n/e/w/${index}.txt`, "&force=true", String(index))
        : content(volume, "POST", "dir", "n/e/w/d", "&force=true"),
    );
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 201));
    const listed = (await (await content(volume, "GET", "dir", "n/e/w")).json()) as unknown[];
    expect(listed).toHaveLength(21);
    await control.api("DELETE", `/volumes/${volume.volumeID}`);
  });

  it("needs the token of exactly this volume", async () => {
    const other = await createVolume("other");
    for (const token of [other.token, "", volume.token.slice(0, -1), "x"]) {
      const response = await content({ ...volume, token }, "GET", "dir", "/");
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: "authentication", message: expect.any(String) });
    }
    expect((await content({ ...volume, volumeID: "vol00000000000000000000" }, "GET", "dir", "/")).status).toBe(401);
  });

  it.each([
    ["GET", "file", ""],
    ["GET", "file", "missing"],
    ["GET", "file", "\0"],
    ["GET", "file", "x".repeat(5_000)],
    ["GET", "file", `${"x".repeat(300)}`],
    ["GET", "file", "/"],
    ["PUT", "file", "/"],
    ["PUT", "file", "no/parent"],
    ["POST", "dir", "/"],
    ["DELETE", "path", "/"],
    ["DELETE", "path", "x/.."],
  ])("refuses %s %s of %j with a typed error", async (method, target, path) => {
    const response = await content(volume, method, target, path, "", method === "PUT" ? "x" : undefined);
    expect([400, 404]).toContain(response.status);
    expect(await response.json()).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  });

  it.each(["uid=-1", "uid=65536", "gid=x", "mode=3072", "depth=0"])("refuses %s", async (query) => {
    const response = await content(volume, query.startsWith("depth") ? "GET" : "POST", "dir", "new", `&${query}`);
    expect(response.status).toBe(400);
  });

  it("a writer that leaves half-way leaves the old content and nothing else", async () => {
    await content(volume, "PUT", "file", "kept", "", "old");
    const { port } = new URL(control.url);
    await new Promise<void>((resolve) => {
      const client = request({
        port,
        method: "PUT",
        path: `/volumecontent/${volume.volumeID}/file?path=kept`,
        headers: { authorization: `Bearer ${volume.token}`, "content-length": "1000000" },
      });
      client.on("error", () => resolve()).on("close", () => resolve());
      client.write("new", () => setImmediate(() => client.destroy()));
    });
    await expect.poll(() => readdirSync(contentDir(volume))).toEqual(["kept"]);
    expect(await (await content(volume, "GET", "file", "kept")).text()).toBe("old");
  });

  describe("never leads out of the volume", () => {
    let secretDir: string;
    beforeAll(() => {
      secretDir = join(control.paths.dataDir, "outside");
      mkdirSync(secretDir);
      writeFileSync(join(secretDir, "secret"), "of the host");
      const inside = contentDir(volume);
      // What a guest with the volume mounted can make.
      symlinkSync(join(secretDir, "secret"), join(inside, "file-link"));
      symlinkSync(secretDir, join(inside, "dir-link"));
      symlinkSync("../../../outside", join(inside, "up-link"));
      symlinkSync("/", join(inside, "root-link"));
      symlinkSync("loop-b", join(inside, "loop-a"));
      symlinkSync("loop-a", join(inside, "loop-b"));
    });
    afterAll(() => rmSync(secretDir, { recursive: true }));

    const ways = [
      "file-link",
      "dir-link/secret",
      "up-link/secret",
      "root-link/proc/self/environ",
      "../../../outside/secret",
      "/../../../outside/secret",
      "x/../../../../outside/secret",
      "%2e%2e/%2e%2e/%2e%2e/outside/secret",
      "..%2f..%2f..%2foutside%2fsecret",
      "loop-a",
      "loop-a/x",
    ];

    it.each(ways)("reading %j", async (path) => {
      const response = await content(volume, "GET", "file", path);
      expect([400, 404]).toContain(response.status);
      expect(await response.text()).not.toContain("of the host");
    });

    it.each(ways)("listing and describing %j", async (path) => {
      expect([400, 404]).toContain((await content(volume, "GET", "dir", path)).status);
      expect(await (await content(volume, "GET", "path", path)).text()).not.toContain('"size":11');
    });

    it.each(ways)("writing, changing and removing %j", async (path) => {
      await content(volume, "PUT", "file", path, "", "evil");
      await content(volume, "POST", "dir", `${path}/made`, "&force=true");
      await content(volume, "DELETE", "path", path);
      await fetch(`${control.url}/volumecontent/${volume.volumeID}/path?path=${encodeURIComponent(path)}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${volume.token}`, "content-type": "application/json" },
        body: JSON.stringify({ uid: 5, mode: 0o777 }),
      });
      expect(readdirSync(secretDir)).toEqual(["secret"]);
      expect(readFileSync(join(secretDir, "secret"), "utf8")).toBe("of the host");
      expect(statSync(join(secretDir, "secret")).uid).toBe(0);
    });

    it("a link within the volume is resolved as a sandbox would", async () => {
      await content(volume, "PUT", "file", "real/file", "&force=true", "inside");
      symlinkSync("/real", join(contentDir(volume), "abs"));
      symlinkSync("../real/../abs/file", join(contentDir(volume), "real", "rel"));
      expect(await (await content(volume, "GET", "file", "abs/rel")).text()).toBe("inside");
      expect(await (await content(volume, "GET", "path", "abs")).json()).toMatchObject({ type: "symlink", target: "/real" });
    });
  });
});

describe("what a creation may mount", () => {
  it.each([
    [{ volumeMounts: [{ name: "unknown", path: "/data" }] }, 400],
    [{ volumeMounts: [{ name: "../x", path: "/data" }] }, 400],
    [{ mounts: [{ hostPath: "/etc", path: "/data" }] }, 403],
    [{ mounts: [{ hostPath: "/", path: "/data" }] }, 403],
    [{ mounts: [{ hostPath: "/root/../etc", path: "/data" }] }, 403],
    [{ mounts: [{ hostPath: "/proc/self/root/etc", path: "/data" }] }, 403],
    [{ mounts: [{ hostPath: "relative", path: "/data" }] }, 400],
    [{ mounts: [{ hostPath: "/does/not/exist", path: "/data" }] }, 400],
  ])("refuses %j with %i", async (body, status) => {
    const response = await control.api("POST", "/v2/sandboxes", { templateID: "base", ...body });
    expect(response.status).toBe(status);
  });

  it.each(["data", "/", "/data/", "/a//b", "/a/../b", "/proc", "/proc/1", "/dev/shm", "/run/x", "/opt/agent-sandbox", "/sys", ""])(
    "refuses the path %j inside",
    async (path) => {
      const volume = await createVolume("target");
      const response = await control.api("POST", "/v2/sandboxes", { templateID: "base", volumeMounts: [{ name: "target", path }] });
      expect(response.status).toBe(400);
      await control.api("DELETE", `/volumes/${volume.volumeID}`);
    },
  );

  it("refuses directories of the machine that another user owns, those of the platform, and any caller behind a proxy", async () => {
    const own = join(control.paths.dataDir, "..", "own");
    mkdirSync(own);
    const create = (hostPath: string, headers = {}) =>
      control.api("POST", "/v2/sandboxes", { templateID: "base", mounts: [{ hostPath, path: "/data" }] }, headers);
    expect((await create(control.paths.dataDir)).status).toBe(403);
    expect((await create(join(control.paths.dataDir, ".."))).status).toBe(403);
    expect((await create(own, { "x-forwarded-for": "10.0.0.1" })).status).toBe(403);
    symlinkSync("/etc", join(own, "link"));
    expect((await create(join(own, "link"))).status).toBe(403);
    mkdirSync(join(own, ".ssh"));
    expect((await create(join(own, ".ssh"))).status).toBe(403);
  });
});

it("a platform that has all the sandboxes it may have answers 429 with a time to wait", async () => {
  const small = await startTestControl({ maxSandboxes: 1 });
  try {
    const first = await small.create();
    const refused = await small.api("POST", "/v2/sandboxes", { templateID: "base" });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: 429, error_code: "rate_limited" });
    await small.api("DELETE", `/sandboxes/${first.sandboxID}`);
    await small.create();
  } finally {
    await small.stop();
  }
});

it("a fork makes as many copies as the platform may have, and none of the files when there is room for none", async () => {
  const small = await startTestControl({ maxSandboxes: 3 });
  try {
    const source = await small.create();
    const fork = (count: number) => small.api("POST", `/sandboxes/${source.sandboxID}/fork`, { count });
    const made = await fork(4);
    expect(made.status).toBe(201);
    const copies = (await made.json()) as { readonly sandbox?: object; readonly error?: object }[];
    expect(copies.filter(({ sandbox }) => sandbox !== undefined)).toHaveLength(2);
    for (const { error } of copies.slice(2)) expect(error).toMatchObject({ code: 429, error_code: "rate_limited" });
    const snapshots = readdirSync(small.paths.snapshotsDir);
    const refused = await fork(1);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(readdirSync(small.paths.snapshotsDir)).toEqual(snapshots);
  } finally {
    await small.stop();
  }
});
