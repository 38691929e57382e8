import type { components } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { SecretRecord } from "../secrets/secret-table.js";
import type { Secrets } from "../secrets/secrets.js";
import { filledIn } from "./filled-in.js";
import type { Handlers } from "./operation-types.js";

type SecretOperation = "listSecrets" | "createSecret" | "getSecret" | "updateSecret" | "deleteSecret";

/** The operations on secrets. */
export function createSecretHandlers(secrets: Secrets): Pick<Handlers, SecretOperation> {
  return {
    listSecrets: ({ query }) => {
      const after = query.nextToken === undefined ? "" : fromToken(query.nextToken);
      const { records, hasMore } = secrets.list(after, filledIn(query.limit));
      const last = records.at(-1);
      const headers: Record<string, string> = {};
      if (hasMore && last !== undefined) headers["X-Next-Token"] = Buffer.from(last.name).toString("base64url");
      return { status: 200, headers, body: records.map(toWire) };
    },
    createSecret: ({ body }) => ({ status: 201, body: toWire(secrets.create(body.name, body.value, body.metadata ?? {})) }),
    getSecret: ({ path }) => ({ status: 200, body: toWire(secrets.get(path.secretRef)) }),
    updateSecret: ({ path, body }) => ({ status: 200, body: toWire(secrets.update(path.secretRef, body.value, body.metadata)) }),
    deleteSecret: ({ path }) => {
      secrets.delete(path.secretRef);
      return { status: 204 };
    },
  };
}

function toWire(record: SecretRecord): components["schemas"]["Secret"] {
  return {
    secretID: record.id,
    name: record.name,
    currentVersion: record.version,
    metadata: { ...record.metadata },
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  };
}

function fromToken(token: string): string {
  const name = Buffer.from(token, "base64url").toString();
  if (!/^[a-z0-9_-]+$/.test(name)) throw new InvalidArgumentError("nextToken is not one that a list of secrets gave");
  return name;
}
