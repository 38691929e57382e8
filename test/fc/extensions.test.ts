import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/index.js";
import { type FcExtensions, FcSandbox, fcConnection, toFcMetadata } from "../../src/sandbox/fc/index.js";
import { hideAmbientSettings } from "./support/ambient-settings.js";
import { API_KEY, FcStandIn, REGION } from "./support/stand-in.js";

hideAmbientSettings();

const ROLE = "acs:ram::1234567890:role/sandbox";
const VPC = { vpcId: "vpc-1", securityGroupId: "sg-1", vSwitchIds: ["vsw-1", "vsw-2"] };
const OSS = { bucketName: "bucket", mountDir: "/mnt/oss", endpoint: "https://oss-cn-hangzhou-internal.aliyuncs.com" };

/** The metadata with what is JSON read back. */
function read(extensions: FcExtensions): Record<string, unknown> {
  const pairs = Object.entries(toFcMetadata(extensions)).map(([key, value]) => [key, /^[[{]/.test(value) ? JSON.parse(value) : value]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

describe("extensions", () => {
  it("become the metadata that the service reads: texts as they are, everything else as JSON without what is absent", () => {
    const nas = { userId: 100, groupId: 100, mountPoints: [{ serverAddr: "nas:/a", mountDir: "/mnt/nas", enableTLS: true }] };
    const agenticFs = { userID: 1, groupID: 1, mountPoints: [{ serverAddr: "afs", mountDir: "/mnt/afs", fileSystemID: "fs" }] };
    const bucket = { agenticBucket: "ab", bucketName: "space", mountDir: "/mnt/ab", endpoint: OSS.endpoint };
    const juiceFs = { mountPoints: [{ volumeName: "v", mountDir: "/data/jfs", remoteDir: "/", token: "t", args: ["--writeback"] }] };
    const polarFs = { mountPoints: [{ instanceId: "p", mountDir: "/mnt/polar", remoteDir: "/x", readOnly: true }] };
    const logging = { project: "p", logstore: "l", logBeginRule: "DefaultRegex", enableRequestMetrics: true };
    const tracing = { type: "OpenTelemetry", params: { endpoint: "http://collector" } };
    expect(
      read({
        vpc: { ...VPC, role: ROLE },
        portForwardVpc: VPC,
        role: ROLE,
        oss: [{ ...OSS, readOnly: true, bucketPath: undefined }],
        nas,
        agenticFs,
        agenticBucket: [bucket],
        juiceFs,
        polarFs,
        logging,
        tracing,
        identity: { name: "id", policy: { Version: "1" }, domains: ["a.example"], failStrategy: "Block" },
        id: "mine",
      }),
    ).toEqual({
      "fc.sandbox.network.vpc": { ...VPC, role: ROLE },
      "fc.sandbox.network.portforwardvpc": VPC,
      "fc.sandbox.auth.role": ROLE,
      "fc.sandbox.storage.oss": { mountPoints: [{ ...OSS, readOnly: true }] },
      "fc.sandbox.storage.nas": nas,
      "fc.sandbox.storage.agenticfs": agenticFs,
      "fc.sandbox.storage.agenticbucket": { mountPoints: [bucket] },
      "fc.sandbox.storage.juicefs": { envs: {}, ...juiceFs },
      "fc.sandbox.storage.polarfs": polarFs,
      "fc.sandbox.observability.logging": logging,
      "fc.sandbox.observability.tracing": tracing,
      "fc.sandbox.identity.name": "id",
      "fc.sandbox.identity.role.policy": { Version: "1" },
      "fc.sandbox.identity.role.domains": ["a.example"],
      "fc.sandbox.identity.role.failStrategy": "Block",
      "fc.sandbox.id": "mine",
    });
    expect(toFcMetadata({})).toEqual({});
  });

  const wrong: [string, FcExtensions][] = [
    ["extensions.oss needs extensions.role", { oss: [OSS] }],
    ["extensions.agenticFs needs extensions.vpc", { role: ROLE, agenticFs: { mountPoints: [{ serverAddr: "a", mountDir: "/mnt/a" }] } }],
    ["mountDir must be absolute", { role: ROLE, oss: [{ ...OSS, mountDir: "mnt" }] }],
    ["mountDir must not be the root", { role: ROLE, oss: [{ ...OSS, mountDir: "//" }] }],
    ["mountDir must not be under a directory of the system", { role: ROLE, oss: [{ ...OSS, mountDir: "/var/x" }] }],
    ["mountDir must not have parts that begin with a dot", { role: ROLE, oss: [{ ...OSS, mountDir: "/mnt/../etc" }] }],
    ["mountDir must have 2 to 64 characters", { role: ROLE, oss: [{ ...OSS, mountDir: `/mnt/${"x".repeat(60)}` }] }],
    ["bucketName must have 3 to 64 characters", { role: ROLE, oss: [{ ...OSS, bucketName: "ab" }] }],
    ["endpoint must have 1 to 128 characters", { role: ROLE, oss: [{ ...OSS, endpoint: "" }] }],
    ["two mounts have the mountDir", { role: ROLE, oss: [OSS, { ...OSS, mountDir: "/mnt//oss/" }] }],
    ["at most 5 mounts", { role: ROLE, oss: Array.from({ length: 6 }, (_, i) => ({ ...OSS, mountDir: `/mnt/${i}` })) }],
    ["extensions.nas must have at least one mount", { nas: { mountPoints: [] } }],
    ["extensions.vpc.vSwitchIds", { vpc: { ...VPC, vSwitchIds: [] } }],
    ["extensions.vpc.vpcId", { vpc: { ...VPC, vpcId: "" } }],
    ["extensions.role must be an ARN", { role: "sandbox" }],
    ["extensions.id must have", { id: "" }],
    ["extensions.logging.logstore", { logging: { project: "p", logstore: "" } }],
    ["extensions.tracing.type", { tracing: { type: "", params: {} } }],
    ["extensions.identity.name", { identity: { name: "" } }],
  ];
  it.each(wrong)("are refused before anything is sent: %s", (message, extensions) => {
    expect(() => toFcMetadata(extensions)).toThrow(InvalidArgumentError);
    expect(() => toFcMetadata(extensions)).toThrow(message);
  });

  it("travel with the caller's own metadata, and a key that stands in both is refused", async () => {
    await using standIn = await FcStandIn.open();
    const connection = fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch });
    const sandbox = await FcSandbox.create({
      ...connection,
      metadata: { mine: "1" },
      extensions: { id: "sbx-mine", role: ROLE, oss: [OSS] },
    });
    expect(sandbox.sandboxId).toBe("sbx-mine");
    const { metadata } = await sandbox.getInfo();
    expect(metadata).toMatchObject({ mine: "1", "fc.sandbox.auth.role": ROLE, functionName: "f" });
    expect(JSON.parse(metadata["fc.sandbox.storage.oss"] ?? "")).toEqual({ mountPoints: [OSS] });
    const both = { ...connection, metadata: { "fc.sandbox.id": "a" }, extensions: { id: "b" } };
    await expect(FcSandbox.create(both)).rejects.toThrow(/both in metadata and in extensions/);
  });
});

describe("mounts.add", () => {
  it("mounts storage and volumes of the account in a running sandbox, as the wire spells them", async () => {
    await using standIn = await FcStandIn.open();
    const connection = fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch });
    await using sandbox = await FcSandbox.create({ ...connection, extensions: { role: ROLE, vpc: VPC } });
    const agenticFs = { userID: 5, mountPoints: [{ serverAddr: "a", mountDir: "/mnt/a" }] };
    await sandbox.mounts.add({ oss: [OSS], agenticFs, volumes: { "/data/v": "vol", "/data/w": { name: "other" } } });
    expect(standIn.requestsTo("api.").at(-1)).toBe(`POST /sandboxes/${sandbox.sandboxId}/fc-volume-mounts`);
    expect(JSON.parse(standIn.seen.at(-1)?.body ?? "")).toEqual({
      inlineVolumeMounts: { oss: { mountPoints: [OSS] }, agenticFS: agenticFs },
      namedVolumeMounts: [
        { name: "vol", path: "/data/v" },
        { name: "other", path: "/data/w" },
      ],
    });
    const four = Array.from({ length: 4 }, (_, i) => ({ ...OSS, mountDir: `/mnt/${i}` }));
    await expect(sandbox.mounts.add({ oss: four })).rejects.toMatchObject({ reason: "invalid_argument", statusCode: 400 });
    await expect(sandbox.mounts.add({})).rejects.toThrow(/something to mount/);
    await expect(sandbox.mounts.add({ oss: [{ ...OSS, mountDir: "/etc/x" }] })).rejects.toThrow(/directory of the system/);
  });

  it("tells what the sandbox was created without", async () => {
    await using standIn = await FcStandIn.open();
    await using sandbox = await FcSandbox.create(fcConnection({ region: REGION, apiKey: API_KEY, fetch: standIn.fetch }));
    await expect(sandbox.mounts.add({ oss: [OSS] })).rejects.toMatchObject({ reason: "failed_precondition", operation: "mounts.add" });
  });
});
