import { posix } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { cappedInteger, requiredText } from "../fields.js";
import { matchesName } from "../name-pattern.js";
import type { ServerServices } from "../services.js";
import { walkDirectory } from "../walk-directory.js";

const TIMEOUT_MS = 10_000;
const DEPTH = { min: 0, max: 50, preset: 5 } as const;
const RESULTS = { min: 1, max: 10_000, preset: 100 } as const;
const MAX_PATTERN_LENGTH = 1024;

/** Search for files by name. */
export function createSearchHandler({ files }: ServerServices): Pick<RouteHandlers, "searchFiles"> {
  return {
    searchFiles: async ({ body, signal }) => {
      const pattern = requiredText(body, "pattern");
      if (pattern.length > MAX_PATTERN_LENGTH) throw new InvalidArgumentError(`'pattern' has more than ${MAX_PATTERN_LENGTH} characters`);
      const maxResults = cappedInteger(body.max_results, "max_results", RESULTS);
      const maxDepth = cappedInteger(body.max_depth, "max_depth", DEPTH);
      await using place = await files.place(requiredText(body, "path"));
      const results: { name: string; path: string }[] = [];
      const endsAt = performance.now() + TIMEOUT_MS;
      for await (const { name, path, stats } of walkDirectory(place.hostPath, maxDepth)) {
        if (performance.now() > endsAt || signal.aborted) return { results, timed_out: true };
        if (stats.isDirectory() || !matchesName(name, pattern)) continue;
        results.push({ name, path: posix.join(place.path, path) });
        if (results.length >= maxResults) break;
      }
      return { results, timed_out: false };
    },
  };
}
