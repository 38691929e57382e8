import { InvalidArgumentError } from "../errors/error-classes.js";
import { type CapabilityGroup, chooseGroups } from "./capability-groups.js";
import type { CustomRoute } from "./route.js";

/** How the server is started. */
export interface ServerOptions {
  /** Port; 0 takes a free one. @defaultValue 9000 */
  readonly port?: number | undefined;
  /** Address to listen on. @defaultValue "0.0.0.0" */
  readonly host?: string | undefined;
  /** Port of the terminals' WebSocket; 0 takes a free one. @defaultValue `AGENT_SANDBOX_PTY_PORT`, `EBX_PTY_PORT`, else 9001 */
  readonly ptyPort?: number | undefined;
  /** What callers send in `X-Access-Token`. @defaultValue `AGENT_SANDBOX_SERVER_TOKEN`, `EBX_SERVER_TOKEN`, else everyone may call */
  readonly token?: string | undefined;
  /** Directory that the file routes are confined to. @defaultValue `AGENT_SANDBOX_SERVER_BASE_DIR`, `EBX_SERVER_BASE_DIR`, else "/home/user" */
  readonly baseDir?: string | undefined;
  /**
   * Groups to switch on or off. `AGENT_SANDBOX_SERVER_DISABLED_GROUPS` or `EBX_SERVER_DISABLED_GROUPS`, names separated by commas, are
   * off in any case. @defaultValue all but `dev_tools` and `browser` are on
   */
  readonly groups?: Readonly<Partial<Record<CapabilityGroup, boolean>>> | undefined;
  /** Routes beside those of the server. @defaultValue none */
  readonly routes?: readonly CustomRoute[] | undefined;
  /** File with `custom_commands` of the template, as JSON. @defaultValue "/etc/agent-sandbox/commands.json", when it exists */
  readonly customCommandsFile?: string | undefined;
  /** Largest file that is taken or given, in bytes. @defaultValue `AGENT_SANDBOX_MAX_UPLOAD_SIZE`, `EBX_MAX_UPLOAD_SIZE`, else 100 MiB */
  readonly maxUploadBytes?: number | undefined;
  /** Names of hosts under which the server may be called without a token, beside addresses, `localhost` and the sandbox's own. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of web pages that may call the server, as `https://app.example.org`. @defaultValue none */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Chromium that the browser routes start. @defaultValue `AGENT_SANDBOX_CHROMIUM`, else the first of the usual names in PATH */
  readonly chromiumPath?: string | undefined;
}

/** {@link ServerOptions} with everything decided. */
export interface ServerConfig {
  readonly port: number;
  readonly host: string;
  readonly ptyPort: number;
  readonly token: string | undefined;
  readonly baseDir: string;
  readonly groups: Readonly<Record<CapabilityGroup, boolean>>;
  readonly routes: readonly CustomRoute[];
  readonly customCommandsFile: string | undefined;
  readonly maxUploadBytes: number;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly chromiumPath: string | undefined;
  /** Id of the sandbox that the server is in, where it is known. */
  readonly sandboxId: string | undefined;
}

/** A number, and what the caller knows it by. */
type Setting = readonly [name: string, value: number];

const DEFAULT_MAX_UPLOAD_BYTES = 100 * 1024 * 1024;
const DEFAULT_PTY_PORT = 9001;

/**
 * Decide the settings: the options first, then our variables, then those of the Python runtime.
 *
 * @throws {@link InvalidArgumentError} a setting cannot be.
 */
export function resolveServerConfig(options: ServerOptions, env: Readonly<Record<string, string | undefined>>): ServerConfig {
  const nameOf = (name: string) => [`AGENT_SANDBOX_${name}`, `EBX_${name}`].find((full) => env[full]);
  const variable = (name: string): string | undefined => env[nameOf(name) ?? ""];
  const wholeNumber = (option: string, value: number | undefined, name: string, fallback: number): Setting => {
    const full = nameOf(name);
    return value !== undefined || full === undefined ? [option, value ?? fallback] : [full, toNumber(full, env[full] ?? "")];
  };
  const [maxUploadName, maxUploadBytes] = wholeNumber(
    "maxUploadBytes",
    options.maxUploadBytes,
    "MAX_UPLOAD_SIZE",
    DEFAULT_MAX_UPLOAD_BYTES,
  );
  if (!Number.isSafeInteger(maxUploadBytes) || maxUploadBytes < 1)
    throw new InvalidArgumentError(`${maxUploadName} must be a whole number above 0, not ${String(maxUploadBytes)}`);
  if (options.token === "") throw new InvalidArgumentError("token must not be empty; leave it out to let everyone call");
  return Object.freeze({
    port: checkPort("port", options.port ?? 9000),
    host: options.host ?? "0.0.0.0",
    ptyPort: checkPort(...wholeNumber("ptyPort", options.ptyPort, "PTY_PORT", DEFAULT_PTY_PORT)),
    token: options.token ?? variable("SERVER_TOKEN"),
    baseDir: options.baseDir ?? variable("SERVER_BASE_DIR") ?? "/home/user",
    groups: chooseGroups(options.groups ?? {}, variable("SERVER_DISABLED_GROUPS") ?? ""),
    routes: options.routes ?? [],
    customCommandsFile: options.customCommandsFile,
    maxUploadBytes,
    allowedHosts: (options.allowedHosts ?? []).map((name) => name.toLowerCase()),
    allowedOrigins: options.allowedOrigins ?? [],
    chromiumPath: options.chromiumPath ?? (env.AGENT_SANDBOX_CHROMIUM || undefined),
    sandboxId: env.E2B_SANDBOX_ID || undefined,
  });
}

function checkPort(name: string, value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError(`${name} must be a port, not ${String(value)}`);
  return value;
}

function toNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text.trim())) throw new InvalidArgumentError(`${name} must be a whole number, not ${JSON.stringify(text)}`);
  return Number(text);
}
