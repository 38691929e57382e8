import type { HttpClient } from "./http.js";

/** An access key of Alibaba Cloud, lasting or from STS. */
export interface AccessKey {
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** Only of a temporary key. */
  readonly securityToken?: string | undefined;
}

/** What a signature is made over. */
export interface Acs3Request {
  readonly method: string;
  readonly url: string;
  /** Name of the operation, in `x-acs-action`. */
  readonly action: string;
  /** Version of the API, a date. */
  readonly version: string;
  readonly body: string;
  /** Absent without a body. */
  readonly contentType: string | undefined;
  readonly at: Date;
  /** Never the same twice. */
  readonly nonce: string;
}

const ALGORITHM = "ACS3-HMAC-SHA256";

/** Headers of a signed request (Alibaba Cloud, "V3 request structure and signature"); the secret itself is the key of the HMAC. */
export async function signAcs3(request: Acs3Request, key: AccessKey): Promise<Record<string, string>> {
  const headers = await toSignedHeaders(request, key);
  const toSign = `${ALGORITHM}\n${await sha256Hex(toCanonicalRequest(request, headers))}`;
  const signature = await hmacHex(key.accessKeySecret, toSign);
  const fields = `Credential=${key.accessKeyId},SignedHeaders=${Object.keys(headers).join(";")},Signature=${signature}`;
  return { ...headers, authorization: `${ALGORITHM} ${fields}` };
}

/** The headers that the signature covers, sorted by name. */
export async function toSignedHeaders(request: Acs3Request, key: AccessKey): Promise<Record<string, string>> {
  const headers: Record<string, string | undefined> = {
    "content-type": request.contentType,
    host: new URL(request.url).host,
    "x-acs-action": request.action,
    "x-acs-content-sha256": await sha256Hex(request.body),
    "x-acs-date": request.at.toISOString().replace(/\.\d+Z$/, "Z"),
    "x-acs-security-token": key.securityToken,
    "x-acs-signature-nonce": request.nonce,
    "x-acs-version": request.version,
  };
  return Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value.trim()]])));
}

/** The one form of a request that both sides hash. */
export function toCanonicalRequest(request: Acs3Request, headers: Readonly<Record<string, string>>): string {
  const { path, query } = toCanonicalTarget(request.url);
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  return [request.method, path, query, lines.join(""), Object.keys(headers).join(";"), headers["x-acs-content-sha256"]].join("\n");
}

/** Path and query in their strict form, the query sorted. */
function toCanonicalTarget(url: string): { readonly path: string; readonly query: string } {
  const { pathname, searchParams } = new URL(url);
  const path = pathname
    .split("/")
    .map((segment) => encode(decodeURIComponent(segment)))
    .join("/");
  const query = [...searchParams]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map((pair) => pair.join("="))
    .join("&");
  return { path, query };
}

/** An HTTP client that signs each request, repetitions too, since a nonce counts once. The operation stands in the header `x-acs-action`. */
export function createSigningHttpClient(http: HttpClient, version: string, key: AccessKey): HttpClient {
  return async (request) => {
    const { "x-acs-action": action = "", "content-type": contentType, ...others } = request.headers;
    const body = typeof request.body === "string" ? request.body : "";
    const unsigned = { method: request.method, url: request.url, action, version, body, at: new Date(), nonce: crypto.randomUUID() };
    const { host: _, ...signed } = await signAcs3({ ...unsigned, contentType: body === "" ? undefined : contentType }, key);
    // What is sent is spelled as it was signed, so no reading of it in between can differ.
    const { path, query } = toCanonicalTarget(request.url);
    const url = `${new URL(request.url).origin}${path}${query === "" ? "" : `?${query}`}`;
    return http({ ...request, url, headers: { ...others, ...signed } });
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Percent-encode all but letters, digits and `-_.~`. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function sha256Hex(text: string): Promise<string> {
  return toHex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

async function hmacHex(secret: string, text: string): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), algorithm, false, ["sign"]);
  return toHex(await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(text)));
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
