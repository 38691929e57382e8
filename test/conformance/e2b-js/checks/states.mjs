import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Sandbox } from "e2b";
import { rejectsWith, until } from "../harness.mjs";

const allOf = async (paginator) => {
  const found = [];
  while (paginator.hasNext) found.push(...(await paginator.nextItems()));
  return found;
};

/** A sandbox for the length of one check. */
async function withSandbox(options, use) {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options });
  try {
    return await use(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** Forks for the length of one check. */
async function withForks(forks, use) {
  try {
    return await use(forks);
  } finally {
    await Promise.all(forks.map((fork) => fork.kill?.()));
  }
}

const isPaused = async (sandbox) => (await sandbox.getInfo()).state === "paused";

export const states = {
  title: "states",
  setUp: async () => ({ sandbox: await Sandbox.create({ timeoutMs: 300_000 }) }),
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "pause is true, then false; connect resumes with processes and files": () =>
      withSandbox({}, async (sandbox) => {
        const handle = await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
        await sandbox.files.write("a.txt", "a");
        assert.equal(await sandbox.pause(), true);
        assert.equal(await sandbox.pause(), false);
        assert.equal(await isPaused(sandbox), true);
        assert.equal(await sandbox.isRunning(), false);
        await sandbox.connect();
        assert.equal(await sandbox.isRunning(), true);
        assert.equal(await sandbox.files.read("a.txt"), "a");
        assert.ok((await sandbox.commands.list()).some(({ pid }) => pid === handle.pid));
      }),
    "static pause and connect": () =>
      withSandbox({}, async ({ sandboxId }) => {
        assert.equal(await Sandbox.pause(sandboxId), true);
        assert.equal(await (await Sandbox.connect(sandboxId)).isRunning(), true);
      }),
    betaPause: () => withSandbox({}, async (sandbox) => assert.equal(await sandbox.betaPause(), true)),
    "pause of an unknown sandbox": () => rejectsWith(Sandbox.pause("nosuchsandbox"), "SandboxNotFoundError"),
    "pause without memory keeps files and ends processes": () =>
      withSandbox({}, async (sandbox) => {
        await sandbox.files.write("a.txt", "a");
        await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
        assert.equal(await sandbox.pause({ keepMemory: false }), true);
        await sandbox.connect();
        assert.equal(await sandbox.files.read("a.txt"), "a");
        assert.deepEqual(await sandbox.commands.list(), []);
      }),
    "connect with onResume reboot starts anew": () =>
      withSandbox({}, async (sandbox) => {
        await sandbox.commands.run("sleep 600", { background: true, timeoutMs: 0 });
        await sandbox.pause();
        await sandbox.connect({ onResume: "reboot" });
        assert.deepEqual(await sandbox.commands.list(), []);
      }),
    "a paused sandbox is listed as such, refuses a timeout and can be killed": () =>
      withSandbox({}, async (sandbox) => {
        await sandbox.pause();
        const paused = await allOf(Sandbox.list({ query: { state: ["paused"] } }));
        assert.ok(paused.some(({ sandboxId, state }) => sandboxId === sandbox.sandboxId && state === "paused"));
        const running = await allOf(Sandbox.list({ query: { state: ["running"] } }));
        assert.ok(!running.some(({ sandboxId }) => sandboxId === sandbox.sandboxId));
        await assert.rejects(sandbox.setTimeout(60_000));
        assert.equal(await sandbox.kill(), true);
      }),
    "lifecycle onTimeout pause pauses at the end of life, again after a connect": () =>
      withSandbox({ timeoutMs: 2_000, lifecycle: { onTimeout: "pause" } }, async (sandbox) => {
        await until(() => isPaused(sandbox), "the first pause");
        await sandbox.connect({ timeoutMs: 2_000 });
        assert.equal((await sandbox.getInfo()).lifecycle.onTimeout, "pause");
        await until(() => isPaused(sandbox), "the second pause");
      }),
    "lifecycle autoResume wakes it for a request": () =>
      withSandbox({ lifecycle: { onTimeout: "pause", autoResume: true } }, async (sandbox) => {
        await sandbox.pause();
        assert.equal((await sandbox.commands.run("echo woken")).stdout, "woken\n");
      }),
    "createSnapshot, listSnapshots, create from it and deleteSnapshot": async ({ sandbox }) => {
      await sandbox.files.write("kept.txt", "kept");
      const snapshot = await sandbox.createSnapshot();
      assert.deepEqual(snapshot.names, []);
      assert.ok((await allOf(sandbox.listSnapshots())).some(({ snapshotId }) => snapshotId === snapshot.snapshotId));
      assert.ok((await allOf(Sandbox.listSnapshots({ limit: 1 }))).length >= 1);
      const copy = await Sandbox.create(snapshot.snapshotId);
      try {
        assert.equal(await copy.files.read("kept.txt"), "kept");
      } finally {
        await copy.kill();
      }
      assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true);
      assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false);
    },
    "createSnapshot with a name": async ({ sandbox }) => {
      const name = `conformance-${randomUUID().slice(0, 8)}`;
      const { snapshotId, names } = await Sandbox.createSnapshot(sandbox.sandboxId, { name });
      assert.ok(names[0].endsWith(`/${name}`));
      assert.deepEqual(
        (await allOf(Sandbox.listSnapshots({ name }))).map((found) => found.snapshotId),
        [snapshotId],
      );
      assert.equal(await Sandbox.deleteSnapshot(snapshotId), true);
    },
    "fork gives copies with ids of their own": async ({ sandbox }) => {
      await sandbox.files.write("shared.txt", "shared");
      await withForks(await sandbox.fork({ count: 2, timeoutMs: 60_000 }), async (forks) => {
        assert.equal(new Set([sandbox, ...forks].map(({ sandboxId }) => sandboxId)).size, 3);
        for (const fork of forks) assert.equal(await fork.files.read("shared.txt"), "shared");
      });
    },
    "fork without options lives 300 seconds": async ({ sandbox }) => {
      await withForks(await Sandbox.fork(sandbox.sandboxId), async ([fork]) => {
        const { startedAt, endAt } = await fork.getInfo();
        assert.ok(Math.abs(endAt.getTime() - startedAt.getTime() - 300_000) < 5_000);
      });
    },
    "fork of an unknown sandbox and of none": async ({ sandbox }) => {
      await rejectsWith(Sandbox.fork("nosuchsandbox"), "SandboxNotFoundError");
      await assert.rejects(sandbox.fork({ count: 0 }));
    },
    "getMetrics has samples with their time, and none of earlier": async ({ sandbox }) => {
      const samples = await until(async () => (await sandbox.getMetrics()).length > 0 && sandbox.getMetrics(), "a sample", 30_000);
      const [sample] = samples;
      assert.ok(Math.abs(sample.timestamp.getTime() - Date.now()) < 300_000);
      assert.ok(sample.memTotal > 0 && sample.memUsed > 0 && sample.cpuCount >= 1 && sample.diskTotal > 0);
      const end = new Date(Date.now() - 3_600_000);
      assert.deepEqual(await sandbox.getMetrics({ start: new Date(end.getTime() - 60_000), end }), []);
    },
    "the routes of logs answer as the command line reads them": async ({ sandbox }) => {
      const headers = { "X-API-Key": process.env.E2B_API_KEY };
      const get = async (path) => (await fetch(new URL(path, process.env.E2B_API_URL), { headers })).json();
      const older = await get(`/sandboxes/${sandbox.sandboxId}/logs?limit=10`);
      assert.equal(JSON.parse(older.logs[0].line).logger, "lifecycle");
      const newer = await get(`/v2/sandboxes/${sandbox.sandboxId}/logs?direction=forward&limit=1`);
      assert.equal(newer.logs[0].level, "info");
    },
  },
};
