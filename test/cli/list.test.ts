import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { runAbx } from "../support/run-abx.js";

const PAGE = 100;

describe("abx list", () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  /** A server of the wire that has `count` sandboxes, newest first, one hour apart. */
  const serve = async (count: number): Promise<Record<string, string>> => {
    const newest = Date.parse("2026-03-12T10:00:00Z");
    const all = Array.from({ length: count }, (_, index) => ({
      sandboxID: `s${String(index).padStart(5, "0")}`,
      templateID: "base",
      clientID: "c",
      alias: "base",
      startedAt: new Date(newest - index * 3_600_000).toISOString(),
      endAt: new Date(newest + 3_600_000).toISOString(),
      cpuCount: 2,
      memoryMB: 512,
      diskSizeMB: 0,
      state: "running",
      envdVersion: "0.5.7",
    }));
    const created = createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const from = Number(url.searchParams.get("nextToken") ?? 0);
      const next = from + PAGE < all.length ? { "x-next-token": String(from + PAGE) } : {};
      response.writeHead(200, { "content-type": "application/json", ...next }).end(JSON.stringify(all.slice(from, from + PAGE)));
    });
    server = created;
    await new Promise<void>((resolve) => created.listen(0, "127.0.0.1", resolve));
    return { AGENT_SANDBOX_API_URL: `http://127.0.0.1:${(created.address() as AddressInfo).port}`, AGENT_SANDBOX_API_KEY: "e2b_00" };
  };

  const idsOfTable = (stdout: string): (string | undefined)[] =>
    stdout
      .split("\n")
      .slice(1, -1)
      .map((line) => line.split(" ")[0]);

  it("CLI-05: shows the same sandboxes in the same order as table and as JSON, whatever zone and language", async () => {
    const env = await serve(240);
    const table = await runAbx(["list"], { env: { ...env, TZ: "Pacific/Auckland", LANG: "de_DE.UTF-8", FORCE_COLOR: "1" } });
    const json = await runAbx(["list", "--json"], { env: { ...env, TZ: "America/New_York" } });
    const ids = (JSON.parse(json.stdout) as { sandboxId: string }[]).map(({ sandboxId }) => sandboxId);
    expect(ids).toHaveLength(240);
    expect([...ids].sort()).toEqual(ids);
    expect(idsOfTable(table.stdout)).toEqual(ids);
    expect(table.stdout).not.toContain("\u001b");
  });

  it("CLI-05: is complete above a thousand", async () => {
    const { status, stdout } = await runAbx(["list", "--json"], { env: await serve(1_250) });
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toHaveLength(1_250);
  });

  it("CLI-05: is an empty array and a bare header for none", async () => {
    const env = await serve(0);
    expect(JSON.parse((await runAbx(["list", "--json"], { env })).stdout)).toEqual([]);
    expect(idsOfTable((await runAbx(["list"], { env })).stdout)).toEqual([]);
  });
});
