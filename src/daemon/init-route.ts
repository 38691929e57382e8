import type { IncomingMessage, ServerResponse } from "node:http";
import { AuthenticationError, InvalidArgumentError } from "../errors/error-classes.js";
import { assertEnvironment } from "../shared/environment-check.js";
import { isSameSecret } from "../shared/same-secret-node.js";
import { presentedToken } from "./auth.js";
import { type DaemonState, ENVD_VERSION, type InitRequest } from "./daemon-state.js";
import type { EgressSetup } from "./egress/egress.js";
import { readJsonObject } from "./json-body.js";

const MAX_BODY_BYTES = 4 * 1024 * 1024;

/**
 * `POST /init`: the control plane sets token, variables and defaults.
 *
 * The first call is free; once a token is set, a call presents it as `accessToken` or in X-Access-Token.
 */
export async function handleInit(req: IncomingMessage, res: ServerResponse, state: DaemonState, startKernel: () => void): Promise<void> {
  const body = await readJsonObject(req, MAX_BODY_BYTES);
  const request = parseInitRequest(body);
  const current = state.accessToken;
  if (current !== undefined) {
    const presented = [request.accessToken, presentedToken(req)].filter((token) => token !== undefined);
    if (!presented.some((token) => isSameSecret(token, current))) {
      throw new AuthenticationError("the sandbox is initialised already: present its current access token");
    }
  }
  state.apply(request);
  res.writeHead(204, { "cache-control": "no-store", "x-envd-version": ENVD_VERSION });
  res.end();
  // After the answer, for which the creation of the sandbox waits.
  if (body.startKernel === true) setImmediate(startKernel);
}

function parseInitRequest(body: Record<string, unknown>): InitRequest {
  return {
    accessToken: optionalString(body, "accessToken"),
    envVars: optionalVars(body),
    defaultUser: optionalString(body, "defaultUser"),
    defaultWorkdir: optionalString(body, "defaultWorkdir"),
    timestamp: optionalDate(body),
    sandboxId: optionalString(body, "sandboxId"),
    templateId: optionalString(body, "templateId"),
    egress: optionalEgress(body),
  };
}

function optionalString(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw new InvalidArgumentError(`${name} must be a string`);
  if (value?.includes("\0")) throw new InvalidArgumentError(`${name} contains a NUL character`);
  return value;
}

function optionalDate(body: Record<string, unknown>): Date | undefined {
  const text = optionalString(body, "timestamp");
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError(`timestamp '${text}' is not an RFC 3339 date-time`);
  return date;
}

function optionalEgress(body: Record<string, unknown>): EgressSetup | undefined {
  const value = body.egress ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw new InvalidArgumentError("egress must be an object");
  return { trustedCertificates: optionalString(value as Record<string, unknown>, "trustedCertificates") ?? "" };
}

function optionalVars(body: Record<string, unknown>): Record<string, string> | undefined {
  const value = body.envVars ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) throw new InvalidArgumentError("envVars must be an object of strings");
  const vars: [string, string][] = [];
  for (const [name, text] of Object.entries(value as object)) {
    if (typeof text !== "string") throw new InvalidArgumentError(`envVars.${name} must be a string`);
    vars.push([name, text]);
  }
  assertEnvironment(vars);
  return Object.fromEntries(vars);
}
