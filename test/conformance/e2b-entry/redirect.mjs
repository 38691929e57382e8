// Preloaded: programs that import "e2b" get our entry for them, and nothing else of them changes.
import { registerHooks } from "node:module";

const OURS = import.meta.resolve("@agent-sandbox/sdk/e2b");

registerHooks({
  resolve: (specifier, context, next) => next(specifier === "e2b" ? OURS : specifier, context),
});
