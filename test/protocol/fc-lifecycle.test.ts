import { describe, expect, it } from "vitest";
import { SandboxNotFoundError } from "../../src/errors/error-classes.js";
import { withFcLifecycle } from "../../src/protocol/fc-lifecycle.js";
import { withFcStates } from "../../src/protocol/fc-states.js";
import type { LifecycleClient } from "../../src/protocol/lifecycle-client.js";
import type { NewSandboxSpec, SandboxAccess } from "../../src/protocol/lifecycle-types.js";
import type { StateClient } from "../../src/protocol/state-client.js";

const SPEC = { template: "base", timeoutMs: undefined } as NewSandboxSpec;

/** A client that answers each creation and never finds anything, and what it was asked. */
function openRecorder() {
  const asked: { readonly name: string; readonly timeoutMs?: number | undefined; readonly requestTimeoutMs?: number | undefined }[] = [];
  const missing = async (name: string): Promise<never> => {
    asked.push({ name });
    throw new SandboxNotFoundError("none");
  };
  const client: Partial<LifecycleClient> = {
    create: async ({ timeoutMs }, { requestTimeoutMs }) => {
      asked.push({ name: "create", timeoutMs, requestTimeoutMs });
      return { sandboxId: "sbx-1" } as SandboxAccess;
    },
    getInfo: () => missing("getInfo"),
    setTimeout: () => missing("setTimeout"),
  };
  return { asked, client: withFcLifecycle(client as LifecycleClient, new Map()) };
}

describe("the rules of the FC service", () => {
  it("give a creation three minutes and a snapshot five, unless the caller says otherwise", async () => {
    const { asked, client } = openRecorder();
    await client.create(SPEC, {});
    await client.create({ ...SPEC, timeoutMs: 0 }, { requestTimeoutMs: 0 });
    await client.create({ ...SPEC, timeoutMs: 61_000 }, { requestTimeoutMs: 1_000 });
    expect(asked).toEqual([
      { name: "create", timeoutMs: undefined, requestTimeoutMs: 180_000 },
      { name: "create", timeoutMs: 60_000, requestTimeoutMs: 0 },
      { name: "create", timeoutMs: 61_000, requestTimeoutMs: 1_000 },
    ]);
    const limits: (number | undefined)[] = [];
    const states: Partial<StateClient> = {
      createSnapshot: async (_id, _name, { requestTimeoutMs }) => {
        limits.push(requestTimeoutMs);
        return { snapshotId: "s", names: [] };
      },
    };
    const snapshots = withFcStates(states as StateClient);
    await snapshots.createSnapshot("sbx-1", undefined, {});
    await snapshots.createSnapshot("sbx-1", undefined, { requestTimeoutMs: 7 });
    expect(limits).toEqual([300_000, 7]);
  });

  it("ask once for a sandbox that this process did not make, and an abort ends the wait for one that it made", async () => {
    const { asked, client } = openRecorder();
    await expect(client.getInfo("sbx-other", {})).rejects.toBeInstanceOf(SandboxNotFoundError);
    expect(asked).toHaveLength(1);
    await client.create(SPEC, {});
    const abort = new AbortController();
    const info = client.getInfo("sbx-1", { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(info).rejects.toThrow("enough");
  });
});
