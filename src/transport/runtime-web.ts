import { InvalidArgumentError } from "../errors/error-classes.js";
import type { ConfigFile } from "./config.js";
import type { HttpClient } from "./http.js";
import { createFetchClient } from "./http-fetch.js";
import type { WebSocketOpener } from "./websocket.js";
import { createWebSocketOpener } from "./websocket-web.js";

/** The HTTP client of runtimes that are not Node: the global `fetch`, looked up at each call. */
export function openHttpClient(options: { readonly proxy?: string | undefined }): HttpClient {
  if (options.proxy !== undefined) throw new InvalidArgumentError("the option proxy works on Node only");
  return createFetchClient(() => globalThis.fetch);
}

/** The environment where the runtime has one, as Deno and Bun do. A variable that may not be read counts as unset. */
export function readEnvironment(): Readonly<Record<string, string | undefined>> {
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> } };
  return new Proxy<Record<string, string | undefined>>(
    {},
    {
      get(_, name) {
        try {
          return typeof name === "string" ? process?.env?.[name] : undefined;
        } catch {
          return undefined;
        }
      },
    },
  );
}

/** There is no configuration file. */
export function readConfigFile(): ConfigFile {
  return {};
}

/** WebSockets over the global class. */
export function openWebSockets(_options: { readonly proxy?: string | undefined }): WebSocketOpener {
  return createWebSocketOpener();
}
