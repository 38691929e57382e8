import { toPortUrl } from "../port-url.js";
import { defineTool, type Tool } from "../tool.js";
import { QUICK_MS, SANDBOX_ID, type ToolContext } from "../tool-context.js";

export function sandboxTools({ session }: ToolContext): Tool[] {
  return [
    defineTool({
      name: "create_sandbox",
      description:
        "Make a new sandbox, which becomes the default one. The other tools make one by themselves when there is none: " +
        "use this to begin anew, or for another template.",
      parameters: {
        template: { type: "string", description: "What the sandbox holds at its beginning. Leave it out for the usual one." },
        envs: { type: "strings", description: "Environment variables of everything that runs in it." },
      },
      run: async ({ template, envs }) => {
        const { sandboxId } = await session.create({ template, envs });
        return `Sandbox ${sandboxId} is ready, and is the default one now.`;
      },
    }),
    defineTool({
      name: "kill_sandbox",
      description: "End a sandbox, with everything that runs in it and all its files.",
      parameters: { sandbox_id: SANDBOX_ID },
      run: async ({ sandbox_id }) => ((await session.kill(sandbox_id)) ? "The sandbox has ended." : "There was no sandbox to end."),
    }),
    defineTool({
      name: "get_port_url",
      description:
        "Get the URL at which a port of the sandbox is reached from outside, for example of a web server that you started there.",
      parameters: {
        port: { type: "integer", minimum: 1, maximum: 65_535, isRequired: true, description: "Port on which the program listens." },
        sandbox_id: SANDBOX_ID,
      },
      run: ({ port, sandbox_id }, { signal }) =>
        session.use(sandbox_id, QUICK_MS, async (sandbox) => {
          const url = toPortUrl(sandbox, port);
          const probe = await sandbox.commands.run(`exec 3<>/dev/tcp/127.0.0.1/${port}`, { reject: false, signal, timeoutMs: 10_000 });
          const notes = [
            ...(probe.exitCode === 0 ? [] : [`Nothing listens on port ${port} yet.`]),
            ...(sandbox.trafficAccessToken === undefined
              ? []
              : ["Its ports are private: requests need the traffic access token of the sandbox."]),
          ];
          return [url, ...notes].join("\n");
        }),
    }),
  ];
}
