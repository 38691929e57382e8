import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { ROUTE_PLACES, type RouteName } from "../../../src/server/built-in-routes.js";
import { RouteTable } from "../../../src/server/route-pattern.js";
import type { ServerOptions } from "../../../src/server/server-config.js";
import { type CommandServer, startServer } from "../../../src/server/start-server.js";
import type { CommandSet } from "../../../src/shared/command-definition.js";

/** A JSON answer. */
export interface TestAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
  readonly body: any;
  readonly headers: Headers;
}

/** A command server in this process on loopback ports, with a base directory of its own. */
export interface TestServer extends AsyncDisposable {
  readonly server: CommandServer;
  readonly url: string;
  readonly baseDir: string;
  /** Send a request; the answer must be one that openapi/server.yaml describes. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<TestAnswer>;
}

type Json = Record<string, unknown>;
const contract = JSON.parse(await readFile(new URL("../../../gen/openapi/server.json", import.meta.url), "utf8")) as Json;
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(contract, "contract");
const validators = new Map<string, ValidateFunction>();
const routes = new RouteTable<RouteName>();
for (const [name, { method, path }] of Object.entries(ROUTE_PLACES)) routes.add(method, path, name as RouteName); // the table has these keys

export async function startTestServer(commands: CommandSet = {}, options: ServerOptions = {}): Promise<TestServer> {
  const baseDir = await mkdtemp(join(tmpdir(), "command-server-"));
  const server = await startServer(commands, { port: 0, ptyPort: 0, host: "127.0.0.1", baseDir, ...options }).catch(
    async (error: unknown) => {
      await rm(baseDir, { recursive: true });
      throw error;
    },
  );
  const url = `http://127.0.0.1:${server.port}`;
  return {
    server,
    url,
    baseDir,
    async call(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Json;
      const route = routes.find(method, new URL(url + path).pathname.replace(/\/+$/, ""));
      if (route !== undefined) assertInContract(route.value, response.status, answer);
      return { status: response.status, body: answer, headers: response.headers };
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await rm(baseDir, { recursive: true, force: true });
    },
  };
}

function assertInContract(name: RouteName, status: number, answer: Json): void {
  const { method, path } = ROUTE_PLACES[name];
  const place = `/paths/${path.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D")}/${method.toLowerCase()}/responses`;
  const responses = (((contract.paths as Json)[path] as Json)[method.toLowerCase()] as Json).responses as Json;
  const response = responses[String(status)] as Json | undefined;
  if (response === undefined) throw new Error(`${name} answered ${status}, which the contract does not have: ${JSON.stringify(answer)}`);
  const pointer = typeof response.$ref === "string" ? response.$ref.slice(1) : `${place}/${status}`;
  const key = `contract#${pointer}/content/application~1json/schema`;
  const validate = validators.get(key) ?? ajv.compile({ $ref: key });
  validators.set(key, validate);
  if (!validate(answer)) {
    throw new Error(
      `${name} answered ${status} outside of the contract: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(answer).slice(0, 500)}`,
    );
  }
}

/** The events of a stream, in order. */
export async function readEvents(response: Response): Promise<{ readonly event: string; readonly data: unknown }[]> {
  const text = await response.text();
  return text
    .split("\n\n")
    .filter((block) => block !== "" && !block.startsWith(":"))
    .map((block) => {
      const [, event = "message"] = /^event: (.*)$/m.exec(block) ?? [];
      return { event, data: JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null") as unknown };
    });
}
