import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source", "node", "import", "default"] },
  ssr: { resolve: { conditions: ["source", "node", "import", "default"] } },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/conformance/*/node_modules/**"],
    testTimeout: 120_000,
    hookTimeout: 300_000,
    pool: "forks",
    maxWorkers: 3,
    // Nobody is told that tests ran.
    env: { MASTRA_TELEMETRY_DISABLED: "1" },
    // The last is what the others depend on; its condition `source`, which means ours here, leads Node to TypeScript.
    server: {
      deps: {
        inline: [/@modelcontextprotocol\/sdk\/dist\/esm\/client\/streamableHttp/, /node_modules\/@(mastra|ai-sdk)\//, /eventsource-parser/],
      },
    },
    globalSetup: ["test/support/global-setup.ts"],
  },
});
