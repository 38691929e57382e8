import type { Client } from "openapi-fetch";

/** One request as the contract describes it, put together. */
export interface RestRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; `undefined` without a body. */
  readonly body: string | undefined;
}

/** The answer to one request, its errors thrown. */
export interface RestAnswer<T> {
  /** Absent when the body was empty. */
  readonly data: T | undefined;
  header(name: string): string | undefined;
}

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;

/** The operations of a contract, typed by it. What `send` makes of a request is the result of the call. */
export type Operations<Paths extends object> = Pick<Client<Paths>, (typeof METHODS)[number]>;

interface CallInit {
  readonly params?: {
    readonly path?: Readonly<Record<string, unknown>>;
    readonly query?: Readonly<Record<string, unknown>>;
    readonly header?: Readonly<Record<string, string>>;
  };
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Only the types are those of `openapi-fetch`: it builds a `Request` and reads a `Response`, which the client of HTTP would take apart again. */
export function openOperations<Paths extends object>(
  baseUrl: string,
  send: (request: RestRequest) => Promise<RestAnswer<unknown>>,
): Operations<Paths> {
  const operations = METHODS.map((method) => {
    const call = async (path: string, init: CallInit = {}) => send(toRequest(method, baseUrl, path, init));
    return [method, call] as const;
  });
  return Object.fromEntries(operations) as unknown as Operations<Paths>; // the contract's types of what goes in and comes out
}

function toRequest(method: string, baseUrl: string, path: string, { params = {}, headers, body }: CallInit): RestRequest {
  const query = Object.entries(params.query ?? {}).flatMap(([name, value]) =>
    [value].flat().flatMap((item) => (item == null ? [] : [`${name}=${encodeURIComponent(String(item))}`])),
  );
  const target = path.replace(/\{([^{}]+)\}/g, (place, name: string) => {
    const value = params.path?.[name];
    return value === undefined ? place : encodeURIComponent(String(value));
  });
  return {
    method,
    url: new URL(`${baseUrl.replace(/\/$/, "")}${target}${query.length === 0 ? "" : `?${query.join("&")}`}`).href,
    headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers, ...params.header },
    body: body === undefined ? undefined : JSON.stringify(body),
  };
}
