import type { BrowserPage } from "./browser-page.js";
import type { CommandRegistry } from "./command-registry.js";
import type { ConfinedFiles } from "./confined-files.js";
import type { Programs } from "./programs.js";
import type { ServerConfig } from "./server-config.js";
import type { TerminalSessions } from "./terminal-sessions.js";

/** What the routes of one server work with. */
export interface ServerServices {
  readonly config: ServerConfig;
  readonly commands: CommandRegistry;
  readonly files: ConfinedFiles;
  readonly programs: Programs;
  readonly terminals: TerminalSessions;
  readonly browser: BrowserPage;
  /** Where the server really listens; known once it does. */
  readonly ports: { http: number; terminal: number };
}
