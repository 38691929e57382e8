import { type NetworkLogEntry, Sandbox } from "../index.js";
import { followUntilEnd } from "./follow-until-end.js";
import type { Notices } from "./notices.js";
import { writeJson, writeOut, writeTable } from "./output.js";
import { toPrintable } from "./printable.js";

export interface NetworkLogOptions {
  /** Entries that are shown, when following those that are shown first. */
  readonly limit?: number | undefined;
  readonly json?: boolean | undefined;
}

/** What a platform keeps of one sandbox. */
const KEPT_ENTRIES = 1_000;

/** Show what a sandbox tried to reach, oldest first. */
export async function showNetworkLog(sandboxId: string, { limit, json }: NetworkLogOptions): Promise<void> {
  const entries = await Sandbox.getNetworkLog(sandboxId, { limit });
  if (json) {
    await writeJson(entries.map(toJson));
    return;
  }
  const rows = entries.map((entry) => [
    entry.at.toISOString(),
    entry.protocol,
    toPrintable(`${entry.host}:${entry.port}`),
    entry.decision,
    String(entry.status ?? "-"),
    `${entry.bytesSent}/${entry.bytesReceived}`,
    toPrintable(entry.reason),
  ]);
  await writeTable(["AT", "PROTOCOL", "DESTINATION", "DECISION", "STATUS", "SENT/RECEIVED", "REASON"], rows);
}

/**
 * Write what a sandbox tries to reach as soon as it is decided, one line each, until the sandbox ends. What was let through and then failed, or
 * was refused after all, is told again.
 */
export async function followNetworkLog(
  sandboxId: string,
  { limit, json }: NetworkLogOptions,
  outputClosed: AbortSignal,
  notices: Notices,
): Promise<number> {
  const decisions = new NewDecisions();
  let isFirst = true;
  return followUntilEnd(sandboxId, outputClosed, async (signal) => {
    const entries = await Sandbox.getNetworkLog(sandboxId, { limit: KEPT_ENTRIES, signal });
    const fresh = decisions.take(entries);
    if (decisions.hasGap) await notices.tell("abx: more than 1000 connections between two looks; some are not shown");
    const shown = isFirst && limit !== undefined ? fresh.slice(Math.max(0, fresh.length - limit)) : fresh;
    isFirst = false;
    for (const entry of shown) await writeOut(json ? `${JSON.stringify(toJson(entry))}\n` : formatLine(entry));
  });
}

/** Tells which decisions are new since the look before. Entries have no ids, so equal ones are counted. */
class NewDecisions {
  #seen: ReadonlyMap<string, number> = new Map();
  /** Nothing of the look before is left although the log is full: what came in between may be lost. */
  hasGap = false;

  take(entries: readonly NetworkLogEntry[]): NetworkLogEntry[] {
    const unseen = new Map(this.#seen);
    const seen = new Map<string, number>();
    const fresh: NetworkLogEntry[] = [];
    for (const entry of entries) {
      if (entry.decision === "pending") continue;
      const key = JSON.stringify([entry.at, entry.protocol, entry.host, entry.port, entry.method, entry.decision]);
      seen.set(key, (seen.get(key) ?? 0) + 1);
      const before = unseen.get(key) ?? 0;
      if (before === 0) fresh.push(entry);
      else unseen.set(key, before - 1);
    }
    this.hasGap = this.#seen.size > 0 && entries.length === KEPT_ENTRIES && fresh.length === KEPT_ENTRIES;
    this.#seen = seen;
    return fresh;
  }
}

function formatLine({ at, decision, protocol, host, port, reason }: NetworkLogEntry): string {
  return `${at.toISOString()} ${decision.padEnd(7)} ${protocol.padEnd(7)} ${toPrintable(`${host}:${port}  ${reason}`)}\n`;
}

function toJson({ at, ...entry }: NetworkLogEntry): Record<string, unknown> {
  return { at: at.toISOString(), ...entry };
}
