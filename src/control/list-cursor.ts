import { InvalidArgumentError } from "../errors/error-classes.js";
import { toSandboxId } from "./sandbox-id.js";

/** Sort key of a record: where a page ended. */
export interface ListPosition {
  readonly startedAt: Date;
  readonly id: string;
}

/** Write a position as the opaque token of `X-Next-Token`: URL-safe base64 of `<RFC 3339>__<id>[__asc]`. */
export function toListToken(position: ListPosition, order: "asc" | "desc"): string {
  const parts = [position.startedAt.toISOString(), position.id, ...(order === "asc" ? ["asc"] : [])];
  return Buffer.from(parts.join("__")).toString("base64url");
}

/**
 * Read a token that {@link toListToken} wrote.
 *
 * @throws {@link InvalidArgumentError} not such a token, or of a list in the other order.
 */
export function fromListToken(token: string, order: "asc" | "desc"): ListPosition {
  const [time = "", id = "", tokenOrder = "desc", ...more] = Buffer.from(token, "base64url").toString().split("__");
  const startedAt = new Date(time);
  if (Number.isNaN(startedAt.getTime()) || toSandboxId(id) !== id || more.length > 0 || (tokenOrder !== "asc" && tokenOrder !== "desc")) {
    throw new InvalidArgumentError("nextToken is not a token of this list; leave it out to start at the first page");
  }
  if (tokenOrder !== order) {
    throw new InvalidArgumentError(
      `nextToken belongs to a list in order "${tokenOrder}"; ask with order=${tokenOrder} or start at the first page`,
    );
  }
  return { startedAt, id };
}
