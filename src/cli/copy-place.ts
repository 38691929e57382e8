import { InvalidArgumentError } from "../errors/error-classes.js";

/** One side of `abx cp`. */
export type CopyPlace =
  | { readonly kind: "local"; readonly path: string }
  | { readonly kind: "sandbox"; readonly sandboxId: string; readonly path: string };

/** A source and a target of which exactly one is inside a sandbox. */
export type CopyDirection =
  | { readonly kind: "upload"; readonly from: string; readonly sandboxId: string; readonly to: string }
  | { readonly kind: "download"; readonly from: string; readonly sandboxId: string; readonly to: string };

/**
 * Tell which side is inside a sandbox.
 *
 * @throws {@link InvalidArgumentError} none or both are.
 */
export function toCopyDirection(source: string, target: string): CopyDirection {
  const from = toCopyPlace(source);
  const to = toCopyPlace(target);
  if (from.kind === "local" && to.kind === "sandbox") return { kind: "upload", from: from.path, sandboxId: to.sandboxId, to: to.path };
  if (from.kind === "sandbox" && to.kind === "local") return { kind: "download", from: from.path, sandboxId: from.sandboxId, to: to.path };
  throw new InvalidArgumentError(
    from.kind === "local"
      ? "one of source and target must be inside a sandbox: <sandbox-id>:<path>"
      : "one of source and target must be on this machine; copy in two steps from sandbox to sandbox",
  );
}

/** `<sandbox-id>:<path>` is inside a sandbox, whatever else is local, `./a:b` too. No path means the user's home. */
export function toCopyPlace(text: string): CopyPlace {
  const match = /^(?<sandboxId>[A-Za-z0-9_-]+):(?<path>.*)$/s.exec(text);
  if (match?.groups === undefined) return { kind: "local", path: text };
  return { kind: "sandbox", sandboxId: match.groups.sandboxId ?? "", path: match.groups.path || "." };
}

/** The last name of a path; `.` for one that means what is in a directory. */
export function lastName(path: string): string {
  return path.split("/").filter(Boolean).at(-1) ?? ".";
}

/** Whether the source means what is in a directory and not the directory. */
export function meansContent(path: string): boolean {
  return [".", ".."].includes(lastName(path));
}
