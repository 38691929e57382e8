import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, request as proxyRequest, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type DaemonSandbox, openDaemonSandbox } from "../../sandbox/support/daemon-sandbox.js";
import { StandInControl } from "./stand-in-control.js";
import { StandInSandboxes } from "./stand-in-sandboxes.js";

export const REGION = "cn-hangzhou";
export const DOMAIN = `${REGION}.e2b.fc.aliyuncs.com`;
export const API_KEY = "e2b_00ff";

/** One request as the service saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

/**
 * Stands for the service: its host names lead to a loopback server that answers as the service was recorded to. Commands and files are those
 * of a real daemon, behind a gate that takes JSON only.
 */
export class FcStandIn implements AsyncDisposable {
  readonly seen: SeenRequest[] = [];
  readonly control = new StandInControl();
  readonly sandboxes = new StandInSandboxes((key) => key === API_KEY || this.control.hasKey(key));
  readonly #daemon: DaemonSandbox;
  readonly #server = createServer((req, res) => this.#serve(req, res));
  url = "";

  private constructor(daemon: DaemonSandbox) {
    this.#daemon = daemon;
  }

  static async open(): Promise<FcStandIn> {
    const standIn = new FcStandIn(await openDaemonSandbox());
    await new Promise<void>((resolve) => standIn.#server.listen(0, "127.0.0.1", resolve));
    standIn.url = `http://127.0.0.1:${(standIn.#server.address() as AddressInfo).port}`;
    return standIn;
  }

  /** Reaches the stand-in under the names of the service, and nothing else. */
  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const url = new URL(String(input));
    if (!url.hostname.endsWith(".aliyuncs.com")) throw new Error(`${url.hostname} is no host of the service`);
    const headers = new Headers(init?.headers);
    headers.set("x-stand-in-host", url.host);
    return fetch(`${this.url}${url.pathname}${url.search}`, { ...init, headers });
  };

  /** `METHOD path` of the requests to hosts that begin with this. */
  requestsTo(host: string): string[] {
    return this.seen.filter((request) => request.host.startsWith(host)).map(({ method, path }) => `${method} ${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.#daemon[Symbol.asyncDispose]();
  }

  #serve(req: IncomingMessage, res: ServerResponse): void {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      // A client in a process of its own comes without the fetch above, under the name of this server.
      const host = String(req.headers["x-stand-in-host"] ?? req.headers.host);
      const request = { method: req.method ?? "", host, path: req.url ?? "", headers: req.headers, body: body.toString() };
      this.seen.push(request);
      res.setHeader("x-fc-request-id", randomUUID());
      const sandboxId = /^49983-(sbx-[\w-]+)\./.exec(host)?.[1];
      if (sandboxId !== undefined) this.#serveDaemon(sandboxId, req, res, body);
      else send(res, req.url?.startsWith("/pop/") ? this.control.answer(request) : this.sandboxes.answer(request));
    });
  }

  #serveDaemon(sandboxId: string, req: IncomingMessage, res: ServerResponse, body: Buffer): void {
    if (!this.sandboxes.isRunning(sandboxId)) {
      res.writeHead(502, { "content-type": "text/html" }).end("<html><body><h1>502 Bad Gateway</h1></body></html>");
      return;
    }
    if (req.headers["x-access-token"] !== this.sandboxes.tokenOf(sandboxId)) {
      send(res, { status: 401 });
      return;
    }
    if (/proto/.test(req.headers["content-type"] ?? "")) {
      send(res, { status: 400, body: { code: "invalid_argument", message: "unsupported codec" } });
      return;
    }
    const { "x-access-token": _token, "x-stand-in-host": _host, host: _own, ...headers } = req.headers;
    const onward = proxyRequest(`${this.#daemon.baseUrl}${req.url}`, { method: req.method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    onward.end(body);
  }
}

function send(res: ServerResponse, { status, body }: Reply): void {
  if (body === undefined) res.writeHead(status).end();
  else res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
