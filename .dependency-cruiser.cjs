/** The layer table of docs/architecture.md. */
const layer = (name, from, to, comment) => ({ name, severity: "error", comment, from: { path: from }, to: { path: to } });

module.exports = {
  forbidden: [
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } } },
    layer("l0-is-the-bottom", "^src/(errors|shared)/", "^src/(?!errors/|shared/)"),
    layer("l1-over-l0", "^src/transport/", "^src/(?!errors/|shared/|transport/)"),
    layer("l2-over-l1", "^src/protocol/", "^src/(?!errors/|shared/|transport/|protocol/)"),
    layer(
      "l3-over-l2",
      "^src/(sandbox|node)/",
      "^src/(?!errors/|shared/|transport/(config|logger|telemetry)\\.ts$|protocol/|sandbox/|node/)",
    ),
    layer("l4-over-l3", "^src/declarative/", "^src/(?!errors/|shared/|sandbox/|node/|declarative/)"),
    layer("l5-over-l4", "^src/agent/", "^src/(?!errors/|shared/|sandbox/|node/|declarative/|agent/)"),
    layer("telemetry-over-l1", "^src/telemetry/", "^src/(?!errors/|shared/|transport/(telemetry|http)\\.ts$|telemetry/)"),
    layer("compat-uses-the-root-entry", "^src/compat/", "^src/(?!shared/|compat/|index\\.ts$)"),
    layer("daemon-is-a-server", "^src/daemon/", "^src/(?!errors/|shared/|daemon/)"),
    layer("command-server-over-daemon", "^src/server/", "^src/(?!errors/|shared/|daemon/|server/)"),
    layer("control-is-a-server", "^src/control/", "^src/(?!errors/|shared/|control/)"),
    layer(
      "cli-uses-entries",
      "^src/cli/",
      "^src/(?!errors/|shared/|cli/|index\\.ts$|node/index\\.ts$|agent/mcp/index\\.ts$|sandbox/fc/index\\.ts$|transport/config\\.ts$|control/(main|paths|setup/))",
    ),
    layer("testing-uses-entries", "^src/testing/", "^src/(?!errors/|shared/|testing/|index\\.ts$|node/)"),
    {
      name: "gen-stops-at-l2",
      severity: "error",
      from: { path: "^src/(sandbox|node|cli|declarative|agent|compat|telemetry|testing)/" },
      to: { path: "^gen/" },
    },
    {
      name: "root-entry-is-neutral",
      severity: "error",
      comment: "Node code is *-node.ts, src/node, the servers and the CLI",
      from: { path: "^src/(errors|shared|transport|protocol|sandbox|telemetry)/", pathNot: "-node\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "agent-and-compat-are-neutral",
      severity: "error",
      comment: "Tools and other names run where Sandbox does; only the MCP server and *-node.ts are of Node",
      from: { path: "^src/(agent|compat)/", pathNot: "^src/agent/mcp/|-node\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    { name: "no-orphans", severity: "error", from: { orphan: true, path: "^src/", pathNot: "(^src/index\\.ts|\\.d\\.ts)$" }, to: {} },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "require", "node", "default", "types"],
      extensions: [".ts", ".js", ".json"],
    },
  },
};
