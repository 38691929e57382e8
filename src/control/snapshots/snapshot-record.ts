import type { InstanceLimits } from "../drivers/driver.js";

/** Namespace of names that are given on this machine. */
export const LOCAL_NAMESPACE = "local";

/** One snapshot as the store keeps it. */
export interface SnapshotRecord {
  /** Looks like the id of a template, and is used as one. */
  readonly id: string;
  readonly name: string | undefined;
  readonly tag: string;
  /** Sandbox that it is of, with the template and build which that stood on. */
  readonly sandboxId: string;
  readonly templateId: string;
  /** Of the snapshot itself. */
  readonly buildId: string;
  readonly createdAt: Date;
  /** Deleted, or made for a fork: nobody can name it, and it goes once nothing stands on it. */
  readonly isHidden: boolean;
  readonly limits: InstanceLimits;
}

/** The reference under which callers know a snapshot. */
export function toSnapshotId({ id, name, tag }: Pick<SnapshotRecord, "id" | "name" | "tag">): string {
  return name === undefined ? `${id}:${tag}` : `${LOCAL_NAMESPACE}/${name}:${tag}`;
}
