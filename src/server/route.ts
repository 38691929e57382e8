import type { IncomingHttpHeaders } from "node:http";
import { InvalidArgumentError } from "../errors/error-classes.js";
import type { CapabilityGroup } from "./capability-groups.js";
import type { Fields } from "./fields.js";
import { ROUTE_METHODS, type RouteMethod } from "./route-pattern.js";

/** A request, as the handler of a route gets it. */
export interface ServerRequest {
  readonly method: RouteMethod;
  /** Without the query and without a slash at the end. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** Values of `{name}` in the path of the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The JSON object of the body; without a body it has no fields. */
  readonly body: Fields;
  /** Aborts when the client left. */
  readonly signal: AbortSignal;
}

/** One server-sent event. */
export interface ServerEvent {
  /** Name of the event; absent is `message`. */
  readonly event?: string;
  /** Sent as JSON. */
  readonly data: unknown;
}

/** An answer that is not a plain 200, or a stream of events. */
export class ServerAnswer {
  private constructor(
    readonly status: number,
    readonly body: object | undefined,
    readonly headers: Readonly<Record<string, string>>,
    readonly events: AsyncIterable<ServerEvent> | undefined,
  ) {}

  /** A JSON answer. */
  static json(status: number, body: object, headers: Readonly<Record<string, string>> = {}): ServerAnswer {
    return new ServerAnswer(status, body, headers, undefined);
  }

  /** An error in the form of all errors of the server, `{error, type}`. */
  static error(status: number, message: string, type = "ValueError"): ServerAnswer {
    return ServerAnswer.json(status, { error: message, type });
  }

  /** Server-sent events, sent as they come; the source is ended when the client leaves. */
  static events(source: AsyncIterable<ServerEvent>): ServerAnswer {
    return new ServerAnswer(200, undefined, {}, source);
  }
}

/** What a handler answers with: an object is the body of a 200. */
export type RouteResult = object | ServerAnswer;

/** A route of the template's author. */
export interface CustomRoute {
  readonly method: RouteMethod;
  /** `/name/{parameter}`; a parameter is one part of the path. */
  readonly path: string;
  /** The route is served while the group is on. @defaultValue "commands" */
  readonly group?: CapabilityGroup;
  /** Served without a token. @defaultValue false */
  readonly isOpen?: boolean;
  /** Answers a request, whose body and parameters are checked. What it throws becomes an answer of status 500. */
  handle(request: ServerRequest): RouteResult | Promise<RouteResult>;
}

/**
 * Describe a route.
 *
 * @throws {@link InvalidArgumentError} the method or the path cannot be served.
 */
export function defineRoute(route: CustomRoute): CustomRoute {
  if (!ROUTE_METHODS.includes(route.method)) throw new InvalidArgumentError(`a route's method is one of ${ROUTE_METHODS.join(", ")}`);
  if (!/^(\/([A-Za-z0-9._~-]+|\{[A-Za-z_][A-Za-z0-9_]*\}))+$/.test(route.path)) {
    throw new InvalidArgumentError(`a route's path has parts of letters, digits and . _ ~ -, or {parameters}: not '${route.path}'`);
  }
  return Object.freeze({ ...route, handle: route.handle.bind(route) });
}
