import { type Command, Option } from "commander";
import { collectText, parsePort, parseWholeNumber } from "./option-parsers.js";
import type { ProgramContext } from "./program.js";

/** `abx mcp` and `abx mcp install`. */
export function addMcpCommands(program: Command, context: ProgramContext): void {
  const mcp = program
    .command("mcp")
    .description("serve the tools of a sandbox to a client of the Model Context Protocol")
    .addOption(new Option("--transport <kind>", "how clients connect").choices(["stdio", "http"]).default("stdio"))
    .option("--host <address>", "http: address to listen on; one that others reach needs AGENT_SANDBOX_MCP_TOKEN", "127.0.0.1")
    .option("--port <port>", "http: TCP port; 0 lets the system choose", parsePort, 8931)
    .option("--allow-origin <origin>", "http: pages of this origin may connect; repeatable", collectText)
    .option("--max-sessions <count>", "http: sessions at a time", parseWholeNumber, 100)
    .option("--idle-timeout <seconds>", "http: end a session that asked for nothing for so long", parseWholeNumber, 3_600)
    .option("--template <id>", "template of the sandboxes", "base")
    .option("--timeout <seconds>", "life of a sandbox after its last use", parseWholeNumber, 300)
    .option("--no-internet", "sandboxes reach nothing outside")
    .action(async (options) => context.setExitCode(await (await import("./commands/mcp.js")).runMcpCommand(options, context)));

  mcp
    .command("install")
    .description("show the entry for the configuration of a client, or write it")
    .argument("<client>", "claude-desktop, claude-code, cursor, vscode, windsurf or gemini")
    .option("--name <name>", "name of the entry", "sandbox")
    .option("--write", "write it; without this nothing is changed")
    .option("--json", "print the file and its new content as JSON")
    .action(async (client, options) =>
      context.setExitCode(await (await import("./commands/mcp-install.js")).runMcpInstallCommand(client, options)),
    );
}
