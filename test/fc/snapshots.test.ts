import { expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { FcSandbox, fcConnection } from "../../src/sandbox/fc/index.js";
import { hideAmbientSettings } from "./support/ambient-settings.js";
import { API_KEY, FcStandIn, REGION } from "./support/stand-in.js";

hideAmbientSettings();

it("a snapshot has a name of the service's form", async () => {
  await using standIn = await FcStandIn.open();
  await using sandbox = await FcSandbox.create(fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch }));
  expect(await sandbox.createSnapshot({ name: "prepared:v1" })).toMatchObject({ names: ["team/prepared:v1"] });
  expect((await sandbox.createSnapshot()).names).toEqual([]);
  const sent = standIn.seen.length;
  for (const name of ["1st", "a b", "a/b/c", "a:b:c", "a:", "x".repeat(65), ""]) {
    await expect(sandbox.createSnapshot({ name }), name).rejects.toThrow(/\[team\/\]name\[:tag\]/);
  }
  expect(standIn.seen).toHaveLength(sent);
});

it("a short name is never deleted, because the service would delete the template of that name", async () => {
  await using standIn = await FcStandIn.open();
  const connection = fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch });
  await expect(Sandbox.deleteSnapshot("prepared", connection)).rejects.toThrow(/would delete a template/);
  await expect(Sandbox.deleteSnapshot("prepared:v1", connection)).rejects.toThrow(/would delete a template/);
  expect(standIn.sandboxes.deletedTemplates).toEqual([]);
  const id = "0b1f9a52-8f43-4a46-9d0e-7a2d1c7c1f10";
  expect(await Sandbox.deleteSnapshot(id, connection)).toBe(true);
  expect(await Sandbox.deleteSnapshot("team/prepared:v1", connection)).toBe(true);
  expect(standIn.sandboxes.deletedTemplates).toEqual([id, "team/prepared:v1"]);
});

it("a sandbox from a snapshot takes neither variables nor mounts nor extensions", async () => {
  await using standIn = await FcStandIn.open();
  const connection = fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch });
  for (const options of [{ envs: { A: "1" } }, { volumeMounts: { "/data": "v" } }, { extensions: { id: "mine" } }]) {
    await expect(FcSandbox.create("team/prepared", { ...connection, ...options })).rejects.toThrow(/has what the snapshot has/);
  }
  expect(standIn.seen).toEqual([]);
  await using sandbox = await FcSandbox.create("team/prepared:v1", { ...connection, metadata: { mine: "1" } });
  expect(sandbox.sandboxId).toMatch(/^sbx-/);
});
