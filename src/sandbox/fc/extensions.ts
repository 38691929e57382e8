import { InvalidArgumentError } from "../../errors/error-classes.js";
import { assertText } from "../../shared/text-check.js";
import { checkDistinct, checkRole, checkText } from "./mount-rules.js";
import { type FcStorage, toStorageWire } from "./storage.js";

/** A network of the account. */
export interface FcVpc {
  readonly vpcId: string;
  readonly securityGroupId: string;
  /** Two or more, so that one zone may fail. */
  readonly vSwitchIds: readonly string[];
}

/** Where logs are collected: a store of SLS. */
export interface FcLogging {
  readonly project: string;
  readonly logstore: string;
  /** How the first line of an entry is told, such as `DefaultRegex`. */
  readonly logBeginRule?: string | undefined;
  readonly enableRequestMetrics?: boolean | undefined;
  readonly enableInstanceMetrics?: boolean | undefined;
  readonly enableLlmMetrics?: boolean | undefined;
}

/** Where traces go. */
export interface FcTracing {
  /** Such as `OpenTelemetry`. */
  readonly type: string;
  /** Such as `{ endpoint }`. */
  readonly params: Readonly<Record<string, string>>;
}

/** An identity that the service manages. */
export interface FcIdentity {
  readonly name: string;
  /** Policy document. */
  readonly policy?: Readonly<Record<string, unknown>> | undefined;
  /** Hosts for which it counts. */
  readonly domains?: readonly string[] | undefined;
  /** What happens to requests when it cannot be had, such as `Block`. */
  readonly failStrategy?: string | undefined;
}

/** Features of the cloud that a sandbox is created with. */
export interface FcExtensions extends FcStorage {
  readonly vpc?: (FcVpc & { readonly role?: string | undefined }) | undefined;
  /** A network from which ports are reached directly. */
  readonly portForwardVpc?: FcVpc | undefined;
  /** ARN of a RAM role that trusts Function Compute; OSS, AgenticFS and AgenticBucket need one. */
  readonly role?: string | undefined;
  readonly logging?: FcLogging | undefined;
  readonly tracing?: FcTracing | undefined;
  readonly identity?: FcIdentity | undefined;
  /** Id of the sandbox, chosen by the caller. */
  readonly id?: string | undefined;
}

const KEYS = {
  vpc: "fc.sandbox.network.vpc",
  portForwardVpc: "fc.sandbox.network.portforwardvpc",
  role: "fc.sandbox.auth.role",
  oss: "fc.sandbox.storage.oss",
  nas: "fc.sandbox.storage.nas",
  agenticFs: "fc.sandbox.storage.agenticfs",
  agenticBucket: "fc.sandbox.storage.agenticbucket",
  juiceFs: "fc.sandbox.storage.juicefs",
  polarFs: "fc.sandbox.storage.polarfs",
  logging: "fc.sandbox.observability.logging",
  tracing: "fc.sandbox.observability.tracing",
  id: "fc.sandbox.id",
  identityName: "fc.sandbox.identity.name",
  identityPolicy: "fc.sandbox.identity.role.policy",
  identityDomains: "fc.sandbox.identity.role.domains",
  identityFailStrategy: "fc.sandbox.identity.role.failStrategy",
} as const;

const NEED_ROLE = ["oss", "agenticFs", "agenticBucket"] as const;
const NEED_VPC = ["agenticFs", "juiceFs"] as const;

/**
 * Put extensions into the metadata of a creation, where the service reads them: texts as they are, everything else as JSON.
 *
 * @throws {@link InvalidArgumentError} a field is malformed, or another extension is missing that it needs.
 */
export function toFcMetadata(extensions: FcExtensions): Record<string, string> {
  const { vpc, portForwardVpc, role, logging, tracing, identity, id } = extensions;
  const storage = toStorageWire(extensions);
  checkDistinct(Object.values(storage).flatMap(({ mountPoints }) => mountPoints.map(({ mountDir }) => String(mountDir))));
  if (vpc !== undefined) checkVpc("extensions.vpc", vpc);
  if (vpc?.role !== undefined) checkRole("extensions.vpc.role", vpc.role);
  if (portForwardVpc !== undefined) checkVpc("extensions.portForwardVpc", portForwardVpc);
  if (role !== undefined) checkRole("extensions.role", role);
  if (id !== undefined) checkText("extensions.id", id);
  for (const kind of NEED_ROLE) if (extensions[kind] !== undefined && role === undefined) refuse(kind, "role, of a RAM role");
  for (const kind of NEED_VPC) if (extensions[kind] !== undefined && vpc === undefined) refuse(kind, "vpc");
  if (logging !== undefined) {
    checkText("extensions.logging.project", logging.project);
    checkText("extensions.logging.logstore", logging.logstore);
  }
  if (tracing !== undefined) checkText("extensions.tracing.type", tracing.type);
  if (identity !== undefined) checkIdentity(identity);

  const values: Partial<Record<keyof typeof KEYS, unknown>> = {
    vpc,
    portForwardVpc,
    role,
    ...storage,
    logging,
    tracing,
    id,
    identityName: identity?.name,
    identityPolicy: identity?.policy,
    identityDomains: identity?.domains,
    identityFailStrategy: identity?.failStrategy,
  };
  const metadata: Record<string, string> = {};
  for (const name of Object.keys(KEYS) as (keyof typeof KEYS)[]) {
    const value = values[name];
    if (value !== undefined) metadata[KEYS[name]] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return metadata;
}

function refuse(kind: string, needed: string): never {
  throw new InvalidArgumentError(`extensions.${kind} needs extensions.${needed}`);
}

function checkVpc(name: string, { vpcId, securityGroupId, vSwitchIds }: FcVpc): void {
  checkText(`${name}.vpcId`, vpcId);
  checkText(`${name}.securityGroupId`, securityGroupId);
  if (!Array.isArray(vSwitchIds) || vSwitchIds.length === 0) {
    throw new InvalidArgumentError(`${name}.vSwitchIds must have at least one switch`);
  }
  for (const [index, vSwitchId] of vSwitchIds.entries()) checkText(`${name}.vSwitchIds[${index}]`, vSwitchId);
}

function checkIdentity({ name, policy, domains, failStrategy }: FcIdentity): void {
  checkText("extensions.identity.name", name);
  if (policy !== undefined && (typeof policy !== "object" || policy === null || Array.isArray(policy))) {
    throw new InvalidArgumentError("extensions.identity.policy must be an object");
  }
  for (const [index, domain] of (domains ?? []).entries()) assertText(`extensions.identity.domains[${index}]`, domain);
  if (failStrategy !== undefined) checkText("extensions.identity.failStrategy", failStrategy);
}
