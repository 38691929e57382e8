import { type Entry, isDir, isEnvValueReference, isMount, Manifest, type ManifestInit } from "@openai/agents-core/sandbox";
import { fromBase64, toBase64 } from "../../shared/base64.js";

/** Bytes of a file in a record, where JSON has no form for them. */
interface EncodedBytes {
  readonly type: "base64";
  readonly data: string;
}

/**
 * A manifest as JSON, without what must not outlive the process: ephemeral variables and entries, what only a program can resolve, and paths
 * of this machine.
 */
export function toManifestRecord(manifest: Manifest): Record<string, unknown> {
  const { version, root, users, groups, remoteMountCommandAllowlist } = manifest;
  const environment = Object.entries(manifest.environment).flatMap(([name, value]) => {
    if (value.ephemeral) return [];
    return [[name, isEnvValueReference(value) ? value.toJSON() : value.normalized()]];
  });
  return {
    version,
    root,
    entries: toEntryRecords(manifest.entries, false),
    environment: Object.fromEntries(environment),
    users: structuredClone(users),
    groups: structuredClone(groups),
    extraPathGrants: manifest.extraPathGrants.map(({ hostPath: _, ...grant }) => grant),
    remoteMountCommandAllowlist: [...remoteMountCommandAllowlist],
  };
}

/** The manifest of a record that {@link toManifestRecord}, or the framework, made. */
export function fromManifestRecord(record: unknown): Manifest {
  const init = isRecord(record) ? record : {};
  // The constructor checks the members; what is encoded differently in JSON is put right here.
  return new Manifest({ ...init, entries: fromEntryRecords(init.entries) } as ManifestInit);
}

/** A manifest with what another one adds to it. */
export function mergeManifests(base: Manifest, more: Manifest): Manifest {
  return new Manifest({
    version: more.version,
    root: base.root,
    entries: structuredClone({ ...base.entries, ...more.entries }),
    environment: Object.fromEntries(
      Object.entries({ ...base.environment, ...more.environment }).map(([name, value]) => [name, value.init()]),
    ),
    users: lastOf([...base.users, ...more.users], ({ name }) => name),
    groups: lastOf([...base.groups, ...more.groups], ({ name }) => name),
    extraPathGrants: lastOf([...base.extraPathGrants, ...more.extraPathGrants], ({ path }) => path),
    remoteMountCommandAllowlist: [...base.remoteMountCommandAllowlist],
  });
}

/**
 * The values of the variables. One that has a resolver, is ephemeral or refers to a store is resolved again; of the others the values that
 * were kept count.
 */
export async function resolveEnvironment(
  manifest: Manifest,
  kept: Readonly<Record<string, unknown>> = {},
): Promise<Record<string, string>> {
  const values = Object.entries(manifest.environment).map(async ([name, value]) => {
    const old = kept[name];
    const isFresh = value.ephemeral || value.resolver !== undefined || isEnvValueReference(value);
    return [name, isFresh || typeof old !== "string" ? await value.resolve() : old] as const;
  });
  return Object.fromEntries(await Promise.all(values));
}

/** Of the values of the variables those that may be kept. */
export function keptEnvironment(manifest: Manifest, environment: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(manifest.environment).flatMap(([name, value]) => {
    const text = environment[name];
    return value.ephemeral || isEnvValueReference(value) || text === undefined ? [] : [[name, text] as const];
  });
  return Object.fromEntries(kept);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toEntryRecords(entries: Readonly<Record<string, Entry>>, isEphemeral: boolean): Record<string, unknown> {
  const records = Object.entries(entries).flatMap(([path, entry]) => {
    const record = toEntryRecord(entry, isEphemeral || entry.ephemeral === true);
    return record === undefined ? [] : [[path, record]];
  });
  return Object.fromEntries(records);
}

function toEntryRecord(entry: Entry, isEphemeral: boolean): Record<string, unknown> | undefined {
  if (isDir(entry) && entry.children !== undefined) {
    const children = toEntryRecords(entry.children, isEphemeral);
    return isEphemeral && Object.keys(children).length === 0 ? undefined : { ...entry, children };
  }
  // Mounts are refused before there is a session, and their members may be credentials.
  if (isEphemeral || isMount(entry)) return undefined;
  if (entry.type !== "file" || typeof entry.content === "string") return { ...entry };
  return { ...entry, content: { type: "base64", data: toBase64(entry.content) } satisfies EncodedBytes };
}

function fromEntryRecords(records: unknown): Record<string, unknown> {
  if (!isRecord(records)) return {};
  return Object.fromEntries(Object.entries(records).map(([path, record]) => [path, fromEntryRecord(record)]));
}

function fromEntryRecord(record: unknown): unknown {
  if (!isRecord(record)) return record;
  if (record.type === "dir" && isRecord(record.children)) return { ...record, children: fromEntryRecords(record.children) };
  const { content } = record;
  if (record.type !== "file" || !isRecord(content) || content.type !== "base64" || typeof content.data !== "string") return record;
  return { ...record, content: fromBase64(content.data) };
}

/** Each key once, with the last value that has it. */
function lastOf<T>(values: readonly T[], keyOf: (value: T) => string): T[] {
  return [...new Map(values.map((value) => [keyOf(value), structuredClone(value)])).values()];
}
