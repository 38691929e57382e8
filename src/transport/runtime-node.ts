import { readConfigFileFrom } from "../shared/config-file-node.js";
import type { ConfigFile } from "./config.js";
import type { HttpClient } from "./http.js";
import { createNodeHttpClient } from "./http-node.js";
import type { WebSocketOpener } from "./websocket.js";
import { createNodeWebSocketOpener } from "./websocket-node.js";

/** The HTTP client of Node: `node:http` with kept-alive connections. */
export function openHttpClient(options: { readonly proxy?: string | undefined }): HttpClient {
  return createNodeHttpClient(options);
}

/** The environment of the process, read at each call so that a change before a call counts. */
export function readEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** The user's configuration file; empty when there is none. */
export function readConfigFile(): ConfigFile {
  return readConfigFileFrom(process.env);
}

/** WebSockets over the package `ws`. */
export function openWebSockets(options: { readonly proxy?: string | undefined }): WebSocketOpener {
  return createNodeWebSocketOpener(options);
}
