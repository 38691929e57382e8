import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { E2B, Sandbox } from "e2b";
import { rejectsWith, until } from "../harness.mjs";

const allOf = async (paginator) => {
  const found = [];
  while (paginator.hasNext) found.push(...(await paginator.nextItems()));
  return found;
};

/** A sandbox for the length of one check. */
async function withSandbox(options, use) {
  const sandbox = await Sandbox.create(options);
  try {
    return await use(sandbox);
  } finally {
    await sandbox.kill();
  }
}

export const lifecycle = {
  title: "lifecycle",
  setUp: async () => {
    const run = randomUUID();
    return { run, sandbox: await Sandbox.create({ timeoutMs: 300_000, metadata: { run, "key with = & %": "välue & more" } }) };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "create gives an id, a domain and a sandbox that runs commands": async ({ sandbox }) => {
      assert.match(sandbox.sandboxId, /^[a-z0-9]+$/);
      assert.equal(typeof sandbox.sandboxDomain, "string");
      assert.equal((await sandbox.commands.run("echo hello")).stdout, "hello\n");
    },
    "create with a template name": async () => {
      const named = await Sandbox.create("base");
      try {
        assert.equal(await named.isRunning(), true);
      } finally {
        await named.kill();
      }
    },
    "create with envs gives them to every command": () =>
      withSandbox({ envs: { CONFORMANCE_ENV: "a b$c" } }, async (sandbox) => {
        assert.equal((await sandbox.commands.run('printf %s "$CONFORMANCE_ENV"')).stdout, "a b$c");
      }),
    "create with allowInternetAccess false": () =>
      withSandbox({ allowInternetAccess: false }, async (sandbox) => {
        assert.equal((await sandbox.getInfo()).allowInternetAccess, false);
      }),
    "create with secure false is still secured on the newest route": () =>
      withSandbox({ secure: false }, async (sandbox) => assert.equal(await sandbox.isRunning(), true)),
    "create without options lives 300 seconds": () =>
      withSandbox(undefined, async (sandbox) => {
        const { startedAt, endAt } = await sandbox.getInfo();
        assert.ok(
          Math.abs(endAt.getTime() - startedAt.getTime() - 300_000) < 5_000,
          `${startedAt.toISOString()} to ${endAt.toISOString()}`,
        );
      }),
    "the sandbox knows its own id and template": async ({ sandbox }) => {
      const { stdout } = await sandbox.commands.run('echo "$E2B_SANDBOX $E2B_SANDBOX_ID $E2B_TEMPLATE_ID"');
      const { templateId } = await sandbox.getInfo();
      assert.equal(stdout, `true ${sandbox.sandboxId} ${templateId}\n`);
    },
    "isRunning is true while it runs": async ({ sandbox }) => assert.equal(await sandbox.isRunning(), true),
    "getInfo describes it": async ({ sandbox, run }) => {
      const info = await sandbox.getInfo();
      assert.equal(info.sandboxId, sandbox.sandboxId);
      assert.equal(info.state, "running");
      assert.equal(info.metadata.run, run);
      assert.equal(info.metadata["key with = & %"], "välue & more");
      assert.ok(info.startedAt instanceof Date && info.endAt > info.startedAt);
      assert.ok(info.cpuCount >= 1 && info.memoryMB >= 128, JSON.stringify(info));
      assert.match(info.envdVersion, /^\d+\.\d+\.\d+$/);
      assert.equal(info.name, "base");
      assert.equal(info.lifecycle?.onTimeout, "kill");
    },
    "static getInfo and getFullInfo": async ({ sandbox }) => {
      assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId);
      assert.equal((await Sandbox.getFullInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId);
    },
    "connect gives a second handle on the same sandbox": async ({ sandbox }) => {
      const other = await Sandbox.connect(sandbox.sandboxId);
      assert.equal(other.sandboxId, sandbox.sandboxId);
      await sandbox.files.write("shared.txt", "seen by both");
      assert.equal(await other.files.read("shared.txt"), "seen by both");
      assert.equal((await other.connect()).sandboxId, sandbox.sandboxId);
    },
    "connect with a shorter timeout never shortens": async ({ sandbox }) => {
      const before = (await sandbox.getInfo()).endAt.getTime();
      await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 5_000 });
      assert.equal((await sandbox.getInfo()).endAt.getTime(), before);
    },
    "connect with a longer timeout extends": async ({ sandbox }) => {
      await sandbox.connect({ timeoutMs: 900_000 });
      const left = (await sandbox.getInfo()).endAt.getTime() - Date.now();
      assert.ok(left > 880_000 && left < 920_000, `${left} ms are left`);
    },
    "setTimeout shortens and extends": async ({ sandbox }) => {
      for (const seconds of [60, 600]) {
        await sandbox.setTimeout(seconds * 1_000);
        const left = (await sandbox.getInfo()).endAt.getTime() - Date.now();
        assert.ok(Math.abs(left - seconds * 1_000) < 5_000, `${left} ms are left of ${seconds} s`);
      }
      await Sandbox.setTimeout(sandbox.sandboxId, 300_000);
    },
    "a sandbox ends when its time is over": async () => {
      const sandbox = await Sandbox.create({ timeoutMs: 2_000 });
      await until(async () => !(await sandbox.isRunning()), "the end of the sandbox");
      await rejectsWith(Sandbox.getInfo(sandbox.sandboxId), "SandboxNotFoundError");
    },
    "setTimeout to 0 ends it": async () => {
      const sandbox = await Sandbox.create();
      await sandbox.setTimeout(0);
      await until(async () => !(await sandbox.isRunning()), "the end of the sandbox");
    },
    "kill ends it, and the second kill says false": async () => {
      const sandbox = await Sandbox.create();
      assert.equal(await sandbox.kill(), true);
      assert.equal(await sandbox.kill(), false);
      assert.equal(await Sandbox.kill(sandbox.sandboxId), false);
      assert.equal(await sandbox.isRunning(), false);
      assert.ok(!(await allOf(Sandbox.list())).some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
    },
    "static kill": async () => {
      const sandbox = await Sandbox.create();
      assert.equal(await Sandbox.kill(sandbox.sandboxId), true);
    },
    "list finds by metadata": async ({ sandbox, run }) => {
      const found = await allOf(Sandbox.list({ query: { metadata: { run } } }));
      assert.deepEqual(
        found.map(({ sandboxId }) => sandboxId),
        [sandbox.sandboxId],
      );
      const odd = await allOf(Sandbox.list({ query: { metadata: { run, "key with = & %": "välue & more" } } }));
      assert.equal(odd.length, 1);
      assert.deepEqual(await allOf(Sandbox.list({ query: { metadata: { run, other: "x" } } })), []);
    },
    "list goes page by page, newest first": async ({ sandbox, run }) => {
      const newer = await Sandbox.create({ metadata: { run } });
      try {
        const pages = Sandbox.list({ limit: 1, query: { metadata: { run } } });
        assert.equal(pages.hasNext, true);
        assert.deepEqual(
          (await pages.nextItems()).map(({ sandboxId }) => sandboxId),
          [newer.sandboxId],
        );
        assert.equal(pages.hasNext, true);
        assert.equal(typeof pages.nextToken, "string");
        assert.deepEqual(
          (await pages.nextItems()).map(({ sandboxId }) => sandboxId),
          [sandbox.sandboxId],
        );
        assert.equal(pages.hasNext, false);
        const oldest = await Sandbox.list({ order: "asc", query: { metadata: { run } } }).nextItems();
        assert.deepEqual(
          oldest.map(({ sandboxId }) => sandboxId),
          [sandbox.sandboxId, newer.sandboxId],
        );
        const info = await newer.getInfo();
        const late = await allOf(Sandbox.list({ query: { metadata: { run }, startedAfter: info.startedAt } }));
        assert.deepEqual(
          late.map(({ sandboxId }) => sandboxId),
          [newer.sandboxId],
        );
      } finally {
        await newer.kill();
      }
    },
    "list filters by state and template": async ({ sandbox, run }) => {
      const ids = async (query) =>
        (await allOf(Sandbox.list({ query: { metadata: { run }, ...query } }))).map(({ sandboxId }) => sandboxId);
      assert.deepEqual(await ids({ state: ["running"] }), [sandbox.sandboxId]);
      assert.deepEqual(await ids({ state: ["paused"] }), []);
      assert.deepEqual(await ids({ state: ["running", "paused"] }), [sandbox.sandboxId]);
      assert.deepEqual(await ids({ template: "base" }), [sandbox.sandboxId]);
      assert.deepEqual(await ids({ template: "no-such-template" }), []);
    },
    "getHost and getMcpUrl name the sandbox": async ({ sandbox }) => {
      assert.equal(sandbox.getHost(3000), `3000-${sandbox.sandboxId}.${sandbox.sandboxDomain}`);
      assert.match(sandbox.getMcpUrl(), /^https:\/\/50005-/);
    },
    "a server inside is reachable through the edge": async ({ sandbox }) => {
      const server = await sandbox.commands.run(
        "cd /tmp && echo served > index.html && exec python3 -m http.server 8123 --bind 127.0.0.1",
        {
          background: true,
        },
      );
      try {
        const get = () =>
          fetch(process.env.E2B_SANDBOX_URL, { headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "8123" } });
        const answer = await until(async () => {
          const answer = await get();
          return answer.ok ? answer : answer.body?.cancel();
        }, "an answer of the server inside");
        assert.equal(await answer.text(), "served\n");
      } finally {
        await server.kill();
      }
    },
    "a port where nothing listens answers 502 in JSON": async ({ sandbox }) => {
      const answer = await fetch(process.env.E2B_SANDBOX_URL, {
        headers: { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "9" },
      });
      assert.equal(answer.status, 502);
      const body = await answer.json();
      assert.equal(body.message, "The sandbox is running but port is not open");
      assert.equal(body.code, 502);
    },
    "downloadUrl and uploadUrl work without a header": async ({ sandbox }) => {
      const { status, entries } = await upload(await sandbox.uploadUrl("signed.txt", { useSignatureExpiration: 60_000 }), "signed");
      assert.equal(status, 200);
      assert.deepEqual(entries, [{ name: "signed.txt", path: "/home/user/signed.txt", type: "file" }]);
      const answer = await fetch(await sandbox.downloadUrl("signed.txt"));
      assert.equal(answer.status, 200, await answer.clone().text());
      assert.equal(await answer.text(), "signed");
      const root = await upload(await sandbox.uploadUrl("signed.txt", { user: "root" }), "of root");
      assert.deepEqual(root.entries, [{ name: "signed.txt", path: "/root/signed.txt", type: "file" }]);
    },
    "an expired signature is refused in words": async ({ sandbox }) => {
      await sandbox.files.write("signed.txt", "x");
      const answer = await fetch(await sandbox.downloadUrl("signed.txt", { useSignatureExpiration: -60_000 }));
      assert.equal(answer.status, 401);
      const { code, message } = await answer.json();
      assert.deepEqual({ code, message }, { code: 401, message: "signature is already expired" });
    },
    "the client object binds its options": async ({ sandbox }) => {
      const client = new E2B({ apiKey: process.env.E2B_API_KEY });
      assert.equal((await client.Sandbox.getInfo(sandbox.sandboxId)).sandboxId, sandbox.sandboxId);
    },
    "an aborted create leaves nothing behind": async () => {
      const mark = randomUUID();
      const abort = new AbortController();
      const work = Sandbox.create({ metadata: { mark }, signal: abort.signal });
      setTimeout(() => abort.abort(), 15);
      await work.then(
        (sandbox) => sandbox.kill(),
        () => undefined,
      );
      await until(
        async () => (await allOf(Sandbox.list({ query: { metadata: { mark } } }))).length === 0,
        "the end of the abandoned sandbox",
      );
    },
  },
};

async function upload(url, text) {
  const form = new FormData();
  form.append("file", text);
  const answer = await fetch(url, { method: "POST", body: form });
  return { status: answer.status, entries: await answer.json() };
}
