import type { operations } from "../../gen/openapi/server.js";
import type { CapabilityGroup } from "./capability-groups.js";
import type { ServerAnswer, ServerRequest } from "./route.js";
import type { RouteMethod } from "./route-pattern.js";

/** Routes of the contract; the WebSocket is not one that a handler answers. */
export type RouteName = Exclude<keyof operations, "openPty">;

/** Body of the 200 of a route. */
export type RouteBody<N extends RouteName> = operations[N]["responses"][200]["content"] extends { "application/json": infer B } ? B : never;

/** One handler for each route; a new one in the contract is a compile error until it is there. */
export type RouteHandlers = { readonly [N in RouteName]: RouteHandler<N> };

/** Answers a route of the contract. */
export type RouteHandler<N extends RouteName> = (
  request: ServerRequest,
) => RouteBody<N> | ServerAnswer | Promise<RouteBody<N> | ServerAnswer>;

/** How large the body of a route may be. */
type BodyLimit = "small" | "upload";

/** Where a route is served. */
export interface RoutePlace {
  readonly method: RouteMethod;
  readonly path: string;
  readonly group: CapabilityGroup;
  readonly isOpen: boolean;
  readonly body: BodyLimit;
}

const at = (method: RouteMethod, path: string, group: CapabilityGroup, more: Partial<RoutePlace> = {}): RoutePlace => ({
  method,
  path,
  group,
  isOpen: false,
  body: "small",
  ...more,
});

/** Where each route of openapi/server.yaml is served. */
export const ROUTE_PLACES: Readonly<Record<RouteName, RoutePlace>> = {
  getHealth: at("GET", "/health", "core", { isOpen: true }),
  getCapabilities: at("GET", "/capabilities", "core", { isOpen: true }),
  listCommands: at("GET", "/commands", "commands"),
  runCommand: at("POST", "/commands/{name}", "commands"),
  uploadFile: at("POST", "/upload", "file_ops", { body: "upload" }),
  downloadFile: at("GET", "/download", "file_ops"),
  listFiles: at("GET", "/files/list", "file_ops"),
  statFile: at("GET", "/files/stat", "file_ops"),
  makeDirectory: at("POST", "/files/mkdir", "file_ops"),
  deleteFile: at("DELETE", "/files", "file_ops"),
  moveFile: at("POST", "/files/move", "file_ops"),
  searchFiles: at("POST", "/files/search", "file_ops"),
  uploadFileInPieces: at("POST", "/files/upload-stream", "file_ops", { body: "upload" }),
  downloadFileInPieces: at("GET", "/files/download-stream", "file_ops"),
  archiveFiles: at("POST", "/files/archive", "file_ops"),
  runShell: at("POST", "/shell", "process"),
  streamShell: at("POST", "/shell/stream", "process"),
  startProcess: at("POST", "/process/start", "process"),
  listProcesses: at("GET", "/process/list", "process"),
  getProcess: at("GET", "/process/{pid}", "process"),
  signalProcess: at("POST", "/process/{pid}/signal", "process"),
  createPtySession: at("POST", "/pty/sessions", "terminal"),
  listPtySessions: at("GET", "/pty/sessions", "terminal"),
  deletePtySession: at("DELETE", "/pty/sessions/{id}", "terminal"),
  getSystemInfo: at("GET", "/system/info", "system"),
  getEnv: at("GET", "/env", "system"),
  setEnv: at("POST", "/env", "system"),
  listPorts: at("GET", "/ports", "system"),
  listPackages: at("GET", "/packages", "system"),
  getSystemMetrics: at("GET", "/system/metrics", "system"),
  runCode: at("POST", "/code/run", "dev_tools"),
  getGitStatus: at("GET", "/git/status", "dev_tools"),
  getGitDiff: at("GET", "/git/diff", "dev_tools"),
  browserNavigate: at("POST", "/browser/navigate", "browser"),
  browserScreenshot: at("POST", "/browser/screenshot", "browser"),
  getBrowserContent: at("GET", "/browser/content", "browser"),
  browserClick: at("POST", "/browser/click", "browser"),
  browserType: at("POST", "/browser/type", "browser"),
  browserEvaluate: at("POST", "/browser/evaluate", "browser"),
  browserPdf: at("POST", "/browser/pdf", "browser"),
  getBrowserConsole: at("GET", "/browser/console", "browser"),
};
