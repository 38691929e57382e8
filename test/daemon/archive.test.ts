import { execFileSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DaemonSandbox, openDaemonSandbox } from "../sandbox/support/daemon-sandbox.js";

let box: DaemonSandbox;
beforeAll(async () => {
  box = await openDaemonSandbox();
});
afterAll(() => box[Symbol.asyncDispose]());

const post = (target: string, body: BodyInit, type = "application/json") =>
  fetch(box.baseUrl + target, { method: "POST", body, headers: { "content-type": type } });
const compose = (body: unknown) => post("/files/compose", JSON.stringify(body));
const unpack = (query: string, body: BodyInit) => post(`/agentsandbox/files/unpack?${query}`, body, "application/x-tar");

describe("POST /files/compose", () => {
  it("joins files in their order, replaces the destination and removes the sources", async () => {
    const large = Buffer.alloc(2_500_000, 3);
    await writeFile(join(box.home, "p1"), "one ");
    await writeFile(join(box.home, "p2"), large);
    await writeFile(join(box.home, "whole"), "old");
    const answer = await compose({ source_paths: ["p2", "~/p1", join(box.home, "p1")], destination: "new/dir/whole" });
    expect([answer.status, await answer.json()]).toEqual([200, { name: "whole", path: join(box.home, "new/dir/whole"), type: "file" }]);
    expect((await readFile(join(box.home, "new/dir/whole"))).equals(Buffer.concat([large, Buffer.from("one one ")]))).toBe(true);
    expect((await readdir(box.home)).sort()).toEqual(["new", "whole"]);
    expect((await stat(join(box.home, "new/dir/whole"))).uid).toBe((await stat(box.home)).uid);
    await writeFile(join(box.home, "empty"), "");
    expect((await compose({ source_paths: ["empty"], destination: "whole" })).status).toBe(200);
    expect((await stat(join(box.home, "whole"))).size).toBe(0);
  });

  it("refuses what cannot be meant, and changes nothing", async () => {
    await writeFile(join(box.home, "part"), "p");
    await mkdir(join(box.home, "folder"), { recursive: true });
    await symlink("part", join(box.home, "same"));
    for (const [status, body] of [
      [400, { source_paths: [], destination: "x" }],
      [400, { source_paths: ["part"] }],
      [400, { source_paths: "part", destination: "x" }],
      [400, { source_paths: ["part", "./part"], destination: "part" }],
      [400, { source_paths: ["part"], destination: "same" }],
      [400, { source_paths: ["folder"], destination: "x" }],
      [400, { source_paths: ["part"], destination: "folder" }],
      [400, { source_paths: ["part"], destination: "part/x" }],
      [400, { source_paths: ["~other/part"], destination: "x" }],
      [404, { source_paths: ["part", "missing"], destination: "x" }],
      [401, { source_paths: ["part"], destination: "x", username: "stranger" }],
    ] as const) {
      const answer = await compose(body);
      expect([answer.status, JSON.stringify(body)]).toEqual([status, JSON.stringify(body)]);
      expect(await answer.json()).toMatchObject({ code: status, message: expect.any(String) });
    }
    expect(await readFile(join(box.home, "part"), "utf8")).toBe("p");
  });
});

describe("archives", () => {
  it("a packed directory unpacks to the same, owned by the user, and `tar` reads it", async () => {
    await mkdir(join(box.home, "tree/sub"), { recursive: true });
    await writeFile(join(box.home, "tree/sub/f"), "content");
    await writeFile(join(box.home, "tree/skip.log"), "x");
    await chmod(join(box.home, "tree/sub"), 0o750);
    await symlink("/etc/hostname", join(box.home, "tree/out"));
    const answer = await post("/agentsandbox/files/pack", JSON.stringify({ path: "tree", ignore: ["*.log"] }));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/x-tar"]);
    const archive = Buffer.from(await answer.arrayBuffer());
    expect(execFileSync("tar", ["-tf", "-"], { input: archive, encoding: "utf8" }).split("\n")).toEqual(["out", "sub/", "sub/f", ""]);
    expect((await unpack("path=copy/of/tree", archive)).status).toBe(204);
    expect(await readFile(join(box.home, "copy/of/tree/sub/f"), "utf8")).toBe("content");
    expect((await stat(join(box.home, "copy/of/tree/sub"))).mode & 0o777).toBe(0o750);
    const { uid } = await stat(box.home);
    for (const path of ["copy", "copy/of/tree", "copy/of/tree/sub", "copy/of/tree/sub/f"]) {
      expect((await stat(join(box.home, path))).uid).toBe(uid);
    }
  });

  it("entries that lead out, through links too, are answered with 400 and the connection stays usable", async () => {
    await mkdir(join(box.home, "victim"));
    const evil = execFileSync("tar", ["-cf", "-", "--transform", "s,^,../,", "-P", "-C", join(box.home, "tree"), "sub/f"]);
    const answer = await unpack("path=copy", evil);
    expect([answer.status, await answer.json()]).toMatchObject([400, { message: expect.stringContaining("leads out") }]);
    await mkdir(join(box.home, "into"));
    await symlink("../victim", join(box.home, "into/sub"));
    const through = execFileSync("tar", ["-cf", "-", "-C", join(box.home, "tree"), "sub/f"]);
    expect((await unpack("path=into", Buffer.concat([through, Buffer.alloc(5_000_000)]))).status).toBe(400);
    expect(await readdir(join(box.home, "victim"))).toEqual([]);
  });

  it("refuses what is no archive, no directory, no user or of another type", async () => {
    await writeFile(join(box.home, "plain"), "x");
    expect((await unpack("path=copy", "text")).status).toBe(400);
    expect((await unpack("path=plain", Buffer.alloc(1024))).status).toBe(400);
    expect((await unpack("path=plain/x", Buffer.alloc(1024))).status).toBe(400);
    expect((await unpack("path=copy&username=stranger", Buffer.alloc(1024))).status).toBe(401);
    expect((await post("/agentsandbox/files/unpack?path=copy", "x", "text/plain")).status).toBe(400);
    for (const [status, body] of [
      [404, { path: "missing" }],
      [400, { path: "plain" }],
      [400, { path: 1 }],
      [400, { path: "tree", ignore: "x" }],
      [400, { path: "tree", ignore: ["a\nb"] }],
      [401, { path: "tree", username: "stranger" }],
    ] as const) {
      expect([(await post("/agentsandbox/files/pack", JSON.stringify(body))).status, body]).toEqual([status, body]);
    }
    expect((await fetch(`${box.baseUrl}/agentsandbox/files/pack`)).status).toBe(405);
  });

  it("an archive that breaks off leaves no half of a file", async () => {
    await writeFile(join(box.home, "tree/big"), Buffer.alloc(3_000_000, 1));
    const archive = execFileSync("tar", ["-cf", "-", "-C", join(box.home, "tree"), "sub/f", "big"], { maxBuffer: 1 << 24 });
    expect((await unpack("path=half", archive.subarray(0, 2_000_000))).status).toBe(400);
    expect(await readdir(join(box.home, "half"))).toEqual(["sub"]);
  });
});
