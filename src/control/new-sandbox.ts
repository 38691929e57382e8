import { randomBytes } from "node:crypto";
import type { DaemonInit } from "./daemon-client.js";
import type { EgressSetup } from "./egress/egress-service.js";
import type { NetworkConfig } from "./egress/network-config.js";
import type { LifecyclePolicy, SandboxMount, SandboxRecord } from "./sandbox-record.js";
import type { StartTemplate } from "./template-resolver.js";

/** Wire version of the daemon that this platform puts into every sandbox. */
export const ENVD_VERSION = "0.6.13";

/** A sandbox to create. */
export interface NewSandbox {
  readonly template: string;
  readonly timeoutMs: number;
  readonly isSecure: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envs: Readonly<Record<string, string>>;
  readonly allowInternetAccess: boolean | undefined;
  readonly mounts: readonly SandboxMount[];
  readonly network: NetworkConfig;
  readonly policy: LifecyclePolicy;
}

/** The record of a sandbox that is about to start. */
export function createRecord(id: string, request: NewSandbox, template: StartTemplate, bootId: string): SandboxRecord {
  const now = new Date();
  return {
    id,
    templateId: template.templateId,
    buildId: template.buildId,
    alias: template.alias,
    state: "starting",
    startedAt: now,
    endAt: new Date(now.getTime() + request.timeoutMs),
    createdTimeoutMs: request.timeoutMs,
    policy: request.policy,
    memory: "live",
    bootId,
    metadata: request.metadata,
    envs: { ...template.start?.envs, ...request.envs },
    start: template.start,
    accessToken: request.isSecure ? randomBytes(32).toString("hex") : undefined,
    allowInternetAccess: request.allowInternetAccess,
    network: request.network,
    trafficAccessToken: request.network.allowPublicTraffic === false ? randomBytes(32).toString("hex") : undefined,
    limits: template.limits,
    mounts: request.mounts,
    diskSizeMb: template.diskSizeMb,
    envdVersion: ENVD_VERSION,
  };
}

/** A creation that gives a sandbox as another one was asked for, from other files. */
export function copyOf(record: SandboxRecord, template: string, timeoutMs: number): NewSandbox {
  const { metadata, envs, allowInternetAccess, network, mounts, policy } = record;
  return { template, timeoutMs, isSecure: record.accessToken !== undefined, metadata, envs, allowInternetAccess, network, mounts, policy };
}

/** What the daemon of a sandbox has to know. A daemon that was told user and directory once keeps them. */
export function toDaemonInit(record: SandboxRecord, egress: EgressSetup | undefined): DaemonInit {
  const { user, workdir } = record.start ?? {};
  return {
    ...(user !== undefined && { defaultUser: user }),
    ...(workdir !== undefined && { defaultWorkdir: workdir }),
    sandboxId: record.id,
    templateId: record.templateId,
    accessToken: record.accessToken,
    envVars: record.envs,
    startKernel: true,
    egress,
  };
}
