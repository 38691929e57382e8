import type { IncomingMessage, ServerResponse } from "node:http";
import { sendJson } from "../daemon/http-response.js";
import { readJsonObject } from "../daemon/json-body.js";
import { InvalidArgumentError } from "../errors/error-classes.js";
import { ROUTE_PLACES, type RouteHandlers, type RouteName, type RoutePlace } from "./built-in-routes.js";
import { sendEvents } from "./event-stream.js";
import type { RequestGuard } from "./request-guard.js";
import { type CustomRoute, defineRoute, type RouteResult, ServerAnswer, type ServerRequest } from "./route.js";
import { RouteFailure, sendFailure } from "./route-failure.js";
import { ROUTE_METHODS, type RouteMethod, RouteTable } from "./route-pattern.js";
import type { ServerConfig } from "./server-config.js";

interface ServedRoute extends RoutePlace {
  /** As errors call it. */
  readonly name: string;
  handle(request: ServerRequest): RouteResult | Promise<RouteResult>;
}

const SMALL_BODY_BYTES = 4 * 1024 * 1024;

/** Answers the requests of one server, with the checks in the order that the contract names. */
export class Dispatcher {
  readonly #config: ServerConfig;
  readonly #guard: RequestGuard;
  readonly #routes = new RouteTable<ServedRoute>();

  /** @throws {@link InvalidArgumentError} a custom route has the place of another. */
  constructor(config: ServerConfig, guard: RequestGuard, handlers: RouteHandlers) {
    this.#config = config;
    this.#guard = guard;
    for (const name of Object.keys(ROUTE_PLACES) as RouteName[]) {
      const place = ROUTE_PLACES[name];
      // Each handler takes the same request; what it answers with is of its own type.
      this.#add({ ...place, name: `${place.method} ${place.path}`, handle: handlers[name] as ServedRoute["handle"] });
    }
    for (const route of config.routes) this.#addCustom(defineRoute(route));
  }

  /** Answer one request. Never rejects. */
  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    // The response of a vanished client fails; whoever writes sees it there.
    res.on("error", () => {});
    try {
      this.#guard.assertCaller(req);
      this.#guard.allowOrigin(req, res);
      if (req.method === "OPTIONS") {
        answerPreflight(req, res);
        return;
      }
      await this.#answer(req, res);
    } catch (error) {
      sendFailure(res, error);
    }
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const method = req.method ?? "";
    const [rawPath = "", search = ""] = splitUrl(req.url ?? "/");
    const path = rawPath.replace(/\/+$/, "") || "/";
    if (!isRouteMethod(method)) throw new RouteFailure(501, "ValueError", `Unsupported method ('${method}')`, "unimplemented");
    const found = this.#routes.find(method, path);
    if (found === undefined) throw new RouteFailure(404, "ValueError", `Not found: ${path.slice(0, 500)}`, "not_found");
    const { value: route, params } = found;
    if (!route.isOpen) this.#guard.assertToken(req);
    if (!this.#config.groups[route.group])
      throw new RouteFailure(404, "ValueError", `Built-in route '${route.name}' is disabled`, "not_found");
    const body = method === "GET" ? {} : await readJsonObject(req, this.#bodyLimit(route));
    const left = new AbortController();
    res.on("close", () => left.abort(new Error("the client left")));
    const query = new URLSearchParams(search);
    const result = await route.handle({ method, path, query, headers: req.headers, params, body, signal: left.signal });
    if (res.destroyed) return;
    if (!(result instanceof ServerAnswer)) sendJson(res, 200, result);
    else if (result.events !== undefined) await sendEvents(res, result.events);
    else sendJson(res, result.status, result.body, result.headers);
  }

  /** Base64 takes four bytes for three. */
  #bodyLimit({ body }: RoutePlace): number {
    return body === "upload" ? Math.ceil(this.#config.maxUploadBytes / 3) * 4 + SMALL_BODY_BYTES : SMALL_BODY_BYTES;
  }

  #addCustom({ method, path, group = "commands", isOpen = false, handle }: CustomRoute): void {
    const name = `${method} ${path}`;
    if (this.#routes.find(method, path.replace(/[{}]/g, "_")) !== undefined) {
      throw new InvalidArgumentError(`the route ${name} would never be reached: another one has its place`);
    }
    this.#add({ method, path, group, isOpen, body: "small", name, handle });
  }

  #add(route: ServedRoute): void {
    this.#routes.add(route.method, route.path, route);
  }
}

function answerPreflight(req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(204, {
    "access-control-allow-methods": ROUTE_METHODS.join(", "),
    "access-control-allow-headers": req.headers["access-control-request-headers"] ?? "x-access-token, content-type",
    "access-control-max-age": "600",
  });
  res.end();
}

function isRouteMethod(method: string): method is RouteMethod {
  return (ROUTE_METHODS as readonly string[]).includes(method);
}

/** Path and query; the form with a host, which proxies use, has them too. */
function splitUrl(url: string): [path: string, query: string] {
  const local = url.startsWith("/") ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, "");
  const mark = local.indexOf("?");
  return mark < 0 ? [local, ""] : [local.slice(0, mark), local.slice(mark + 1)];
}
