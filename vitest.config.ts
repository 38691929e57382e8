import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Packages that are transformed here have source maps without their sources, which is nothing to tell. */
const QUIET_SOURCE_MAPS: Plugin = {
  name: "quiet-source-maps",
  configResolved({ logger }) {
    const { warnOnce } = logger;
    logger.warnOnce = (message, options) => void (message.startsWith("Sourcemap for") || warnOnce(message, options));
  },
};

export default defineConfig({
  plugins: [QUIET_SOURCE_MAPS],
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
    // Nobody is told that tests ran.
    env: { MASTRA_TELEMETRY_DISABLED: "1" },
    // They depend on packages whose condition `source`, which means ours here, leads Node to TypeScript.
    server: {
      deps: {
        inline: [
          /@modelcontextprotocol\/(client\/|sdk\/dist\/esm\/client\/streamableHttp)/,
          /@openai\/agents-core\//,
          /node_modules\/(ai\/dist|@ai-sdk|@mastra)\//,
          /\/eventsource(-parser)?\//,
        ],
      },
    },
    globalSetup: ["test/support/global-setup.ts"],
  },
});
