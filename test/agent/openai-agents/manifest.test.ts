import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { dir, file, gitRepo, localDir, localFile, Manifest, mount, s3Mount } from "@openai/agents-core/sandbox";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AgentSandboxClient } from "../../../src/agent/openai-agents/sandbox-client.js";
import type { AgentSandboxSession } from "../../../src/agent/openai-agents/sandbox-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

describeOnPlatform("a manifest of the OpenAI Agents SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const label = { suite: "openai-agents-manifest" };
  let localSourceDir: string;
  let client: AgentSandboxClient;
  let session: AgentSandboxSession;
  const run = async (cmd: string, runAs?: string) => (await session.exec({ cmd, runAs, yieldTimeMs: 60_000 })).stdout;
  beforeAll(async () => {
    localSourceDir = await mkdtemp(path.join(tmpdir(), "local-sources-"));
    await mkdir(path.join(localSourceDir, "tree/deep dir"), { recursive: true });
    await writeFile(path.join(localSourceDir, "tree/deep dir/ü.txt"), "deep\n");
    await writeFile(path.join(localSourceDir, "tree/run.sh"), "#!/bin/sh\necho ran\n", { mode: 0o755 });
    await writeFile(path.join(localSourceDir, "one file.bin"), Uint8Array.of(0, 255, 10));
    await symlink("/etc/hostname", path.join(localSourceDir, "link"));
    client = new AgentSandboxClient({ ...connection, timeoutMs: 120_000, localSourceDir, metadata: label });
    session = await client.create(
      new Manifest({
        root: "/work space",
        entries: {
          "a.txt": file({ content: "text\n" }),
          secret: file({ content: "s\n", permissions: { owner: 6 } }),
          "bytes.bin": file({ content: Uint8Array.of(1, 2, 254) }),
          docs: dir({
            permissions: "drwxrwx--T",
            group: { name: "crew" },
            children: { "inner.md": file({ content: "# inner\n" }), empty: dir() },
          }),
          copied: localDir({ src: "tree" }),
          "copied.bin": localFile({ src: "one file.bin" }),
        },
        environment: { PLAIN: "a b", COMPUTED: async () => "later", HIDDEN: { value: "shh", ephemeral: true } },
        users: ["alice"],
        groups: [{ name: "crew", users: [{ name: "alice" }] }],
      }),
    );
  });
  afterAll(async () => {
    await session?.close();
    await rm(localSourceDir, { recursive: true, force: true });
  });

  it("is there: files, directories, local sources, permissions, owners, accounts and variables", async () => {
    expect(await run("pwd; cat a.txt")).toBe("/work space\ntext\n");
    expect(await run("od -An -tu1 bytes.bin copied.bin")).toMatch(/1\s+2\s+254\s+0\s+255\s+10/);
    expect(await run("stat -c '%A %U %G %n' a.txt secret docs docs/* copied")).toBe(
      [
        "-rwxr-xr-x user user a.txt",
        "-rw------- user user secret",
        "drwxrwx--T user crew docs",
        "drwxr-xr-x user user docs/empty",
        "-rwxr-xr-x user user docs/inner.md",
        "drwxr-xr-x user user copied\n",
      ].join("\n"),
    );
    expect(await run("cat 'copied/deep dir/ü.txt'; copied/run.sh; stat -c %U copied/run.sh")).toBe("deep\nran\nuser\n");
    expect(await run("id -Gn; touch docs/by-alice && echo wrote", "alice")).toBe("alice crew\nwrote\n");
    expect(await run("echo $PLAIN $COMPUTED $HIDDEN")).toBe("a b later shh\n");
  });

  it("grows: entries, variables and users of later manifests, for the user of the run", async () => {
    await session.applyManifest(
      new Manifest({ entries: { "more/x.txt": file({ content: "x\n" }) }, environment: { MORE: "1" }, users: ["carol"] }),
      "carol",
    );
    await session.materializeEntry({ path: "/work space/more/y.txt", entry: file({ content: "y\n" }) });
    expect(await run("cat more/x.txt more/y.txt; stat -c %U more/x.txt more/y.txt; echo $MORE $PLAIN")).toBe("x\ny\ncarol\nuser\n1 a b\n");
    expect(Object.keys(session.state.manifest.entries)).toEqual(expect.arrayContaining(["a.txt", "more/x.txt", "more/y.txt"]));
    expect(session.state.manifest.users.map(({ name }) => name)).toEqual(["alice", "carol"]);
    await expect(session.materializeEntry({ path: "/etc/x", entry: file({ content: "" }) })).rejects.toThrow(/escape/);
  });

  it("clones repositories in the sandbox: a branch, a commit, and a part of one", async () => {
    const sandbox = await Sandbox.connect(session.state.sandboxId, connection);
    const git = `set -e; git init -q -b main /srv/up.git; cd /srv/up.git; git config user.email a@b; git config user.name a
      mkdir sub; echo one > sub/f; git add .; git commit -qm one; git rev-parse HEAD; echo two > sub/f; git commit -qam two
      git config --system url.file:///srv/.insteadOf https://git.test/; git config --system safe.directory '*'`;
    const commit = (await sandbox.commands.run(git, { user: "root" })).stdout.trim();
    const repo = { host: "git.test", repo: "up" };
    await session.materializeEntry({ path: "head", entry: gitRepo({ ...repo, ref: "main" }) });
    await session.materializeEntry({ path: "old", entry: gitRepo({ ...repo, ref: commit }) });
    await session.materializeEntry({ path: "part", entry: gitRepo({ ...repo, subpath: "sub" }) });
    expect(await run("cat head/sub/f old/sub/f part/f; stat -c %U head/.git; ls -A part; git -C head log --format=%s")).toBe(
      "two\none\ntwo\nuser\nf\ntwo\n",
    );
    const failing = (entry: Parameters<typeof gitRepo>[0]) => session.materializeEntry({ path: "no", entry: gitRepo(entry) });
    await expect(failing({ ...repo, subpath: "none" })).rejects.toMatchObject({ code: "git_subpath_error" });
    await expect(failing({ repo: "https://me:pass@git.test/none.git" })).rejects.toMatchObject({
      code: "git_clone_error",
      message: expect.not.stringContaining("pass@") as string,
    });
    expect(Object.keys(session.state.manifest.entries)).not.toContain("no");
  });

  it("that cannot be is refused with the reason, before or after the sandbox is made, and none is left", async () => {
    const before = await Sandbox.list({ ...connection, query: { metadata: label } }).toArray();
    const create = (manifest: ConstructorParameters<typeof Manifest>[0]) => client.create({ manifest });
    await expect(create({ entries: { data: s3Mount({ bucket: "b" }) } })).rejects.toThrow(
      /data is a mount \(s3_mount\)[\s\S]*volumeMounts/,
    );
    await expect(create({ entries: { d: dir({ children: { m: mount({ source: "/tmp" }) } }) } })).rejects.toMatchObject({
      code: "unsupported_feature",
    });
    await expect(create({ extraPathGrants: [{ path: "/x", hostPath: "/y" }] })).rejects.toThrow(/hostPath/);
    await expect(create({ users: ["-rf"] })).rejects.toThrow(/"-rf" cannot be the name/);
    await expect(create({ entries: { f: localFile({ src: "../../etc/passwd" }) } })).rejects.toMatchObject({
      code: "local_file_read_error",
    });
    await expect(create({ entries: { f: localFile({ src: "link" }) } })).rejects.toThrow(/outside of/);
    await expect(create({ entries: { f: localDir({ src: "/etc" }) } })).rejects.toMatchObject({ code: "local_dir_read_error" });
    await expect(create({ entries: { f: localFile({ src: "tree" }) } })).rejects.toThrow(/not a file/);
    await expect(create({ entries: { f: file({ content: "", group: { name: "nobody-has-it" } }) } })).rejects.toThrow(/nobody-has-it/);
    await expect(client.create({ snapshot: { type: "local" } })).rejects.toThrow(/agentSandboxSnapshot/);
    const after = await Sandbox.list({ ...connection, query: { metadata: label } }).toArray();
    expect(after.map(({ sandboxId }) => sandboxId)).toEqual(before.map(({ sandboxId }) => sandboxId));
  });

  it("makes nothing behind links that lead out of the workspace", async () => {
    await run("ln -s /etc out; ln -s docs in");
    const entry = file({ content: "x\n" });
    await expect(session.materializeEntry({ path: "out/made", entry })).rejects.toMatchObject({
      code: "path_resolution_error",
      message: expect.stringContaining("/work space/out/made leads out") as string,
    });
    const below = new Manifest({ entries: { fine: file({ content: "" }), out: dir({ children: { made: entry } }) } });
    await expect(session.applyManifest(below)).rejects.toMatchObject({ code: "path_resolution_error" });
    await session.materializeEntry({ path: "in/made", entry });
    expect(await run("ls /etc/made fine docs/made 2>/dev/null")).toBe("docs/made\n");
  });

  it("takes local sources of a directory that it grants", async () => {
    const other = await mkdtemp(path.join(tmpdir(), "granted-"));
    try {
      await writeFile(path.join(other, "g.txt"), "granted\n");
      const manifest = new Manifest({
        entries: { "g.txt": localFile({ src: path.join(other, "g.txt") }) },
        extraPathGrants: [{ path: other }],
      });
      await session.applyManifest(manifest);
      expect(await run("cat g.txt")).toBe("granted\n");
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });

  it("with hundreds of entries is made in few steps", async () => {
    const entries = Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`many/${"x".repeat(60)}-${n}`, file({ content: `${n}` })]));
    await session.applyManifest(new Manifest({ entries }));
    expect(await run("ls many | wc -l; cat many/*-699")).toBe("700\n699");
  });
});
