import { createHash, createHmac, randomUUID } from "node:crypto";
import type { Reply, SeenRequest } from "./stand-in.js";

export const ACCESS_KEY = { accessKeyId: "LTAI-test", accessKeySecret: "secret-of-test" };

interface Template {
  readonly id: string;
  readonly spec: { readonly name: string; readonly runtimeConfig: { readonly sandboxConfig: { readonly image: string } } };
  /** States that are still to be told, the last one for ever. */
  readonly states: string[];
}

/** The control plane of the account. It checks each signature with its own code. */
export class StandInControl {
  readonly keys = new Map<string, { readonly value: string; readonly name: string; readonly expireTime: string }>();
  readonly templates: Template[] = [];
  readonly #nonces = new Set<string>();
  /** Status of the next answers, while there are any. */
  readonly failures: number[] = [];
  /** States that the build of a template goes through. */
  states = ["building", "building", "ready"];
  createdKeys = 0;

  hasKey(value: string): boolean {
    return [...this.keys.values()].some((key) => key.value === value && Date.parse(key.expireTime) > Date.now());
  }

  answer(request: SeenRequest): Reply {
    const wrong = this.#refuse(request);
    if (wrong !== undefined) return refusal(401, "Unauthorized", wrong);
    const failing = this.failures.shift();
    if (failing !== undefined) return refusal(failing, failing === 403 ? "Forbidden" : "InternalError", "as the test wants it");
    const { pathname } = new URL(request.path, "http://x");
    const [, kind = "", id] = /^\/pop\/2026-05-09\/([\w-]+)(?:\/(.+))?$/.exec(pathname) ?? [];
    return this.#call(`${String(request.headers["x-acs-action"])} ${request.method} ${kind}`, id, request);
  }

  #call(call: string, id: string | undefined, request: SeenRequest): Reply {
    switch (call) {
      case "CreateApiKey POST api-keys": {
        const { apiKeyName: name, expireTime } = JSON.parse(request.body) as { apiKeyName: string; expireTime: string };
        if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(expireTime)) return refusal(400, "InvalidParameter", "expireTime");
        const apiKeyID = randomUUID();
        const apiKeyValue = `e2b_${apiKeyID.replaceAll("-", "")}`;
        this.keys.set(apiKeyID, { value: apiKeyValue, name, expireTime });
        this.createdKeys += 1;
        return { status: 200, body: { requestId: "r", apiKey: { apiKeyID, apiKeyValue, expireTime } } };
      }
      case "ListApiKeys GET api-keys": {
        const query = new URL(request.path, "http://x").searchParams;
        const [page, size] = [Number(query.get("pageNumber")), Number(query.get("pageSize"))];
        const all = [...this.keys].map(([apiKeyID, { name: apiKeyName, expireTime }]) => ({ apiKeyID, apiKeyName, expireTime }));
        return { status: 200, body: { requestId: "r", total: all.length, apiKeys: all.slice((page - 1) * size, page * size) } };
      }
      case "DeleteApiKey DELETE api-keys":
        return this.keys.delete(id ?? "") ? { status: 200, body: { requestId: "r" } } : refusal(404, "ApiKeyNotFound", "no such key");
      case "CreateTemplate POST templates": {
        const spec = JSON.parse(request.body) as Template["spec"];
        const template = { id: `tpl-${randomUUID()}`, spec, states: [...this.states] };
        this.templates.push(template);
        return { status: 200, body: { requestId: "r", templateID: template.id } };
      }
      case "GetTemplate GET templates": {
        const template = this.templates.find((known) => known.id === id);
        if (template === undefined) return refusal(404, "TemplateNotFound", "no such template");
        const state = (template.states.length > 1 ? template.states.shift() : template.states[0]) ?? "ready";
        const reason = state === "error" ? { reason: { message: "the image cannot be pulled" } } : {};
        return { status: 200, body: { requestId: "r", templateID: id, name: template.spec.name, status: { state, ...reason } } };
      }
      case "ListTeams GET teams":
        return { status: 200, body: { requestId: "r", teams: [{ teamID: "team-1" }] } };
      default:
        return refusal(404, "NotFound", call);
    }
  }

  /** Why the signature does not hold; written anew from the description of the algorithm, not with the code under test. */
  #refuse({ method, host, path, headers, body }: SeenRequest): string | undefined {
    const match = /^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? "");
    if (match?.[1] !== ACCESS_KEY.accessKeyId) return "no credential";
    const nonce = String(headers["x-acs-signature-nonce"]);
    if (this.#nonces.has(nonce)) return "the nonce was used before";
    this.#nonces.add(nonce);
    if (Math.abs(Date.parse(String(headers["x-acs-date"])) - Date.now()) > 60_000) return "the date is too far away";
    if (headers["x-acs-content-sha256"] !== sha256(body)) return "the body has another hash";
    const names = String(match[2]).split(";");
    const [pathname = "", query = ""] = path.split("?");
    const lines = names.map((name) => `${name}:${name === "host" ? host : String(headers[name])}\n`).join("");
    const canonical = [method, pathname, sortedByName(query), lines, names.join(";"), sha256(body)].join("\n");
    const hmac = createHmac("sha256", ACCESS_KEY.accessKeySecret).update(`ACS3-HMAC-SHA256\n${sha256(canonical)}`);
    return hmac.digest("hex") === match[3] ? undefined : "the signature does not match";
  }
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function refusal(status: number, code: string, message: string): Reply {
  return { status, body: { code, message, requestId: "req-1" } };
}

/** By name, then by value: as whole texts, a name would come behind a longer one, since `=` is greater than `%`. */
function sortedByName(query: string): string {
  const pairs = query.split("&").map((pair) => pair.split("=") as [string, string?]);
  const compare = (a = "", b = "") => (a < b ? -1 : Number(a > b));
  return pairs
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map((pair) => pair.join("="))
    .join("&");
}
