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
    // Programs of the documentation run beside each other, a few more than a small machine has processors.
    maxConcurrency: 3,
    // The first depends on the second, whose condition `source`, which means ours here, leads Node to TypeScript.
    server: { deps: { inline: [/@modelcontextprotocol\/sdk\/dist\/esm\/client\/streamableHttp/, /eventsource-parser/] } },
    globalSetup: ["test/support/global-setup.ts"],
  },
});
