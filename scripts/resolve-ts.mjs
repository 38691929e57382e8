// Lets Node run the repository's TypeScript as it is written: `import "./x.js"` finds `x.ts`. Use: node --import ./scripts/resolve-ts.mjs
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, nextResolve) {
    try {
      return nextResolve(specifier, context);
    } catch (error) {
      if (!/^\.{1,2}\/.*\.js$/.test(specifier)) throw error;
      return nextResolve(specifier.replace(/\.js$/, ".ts"), context);
    }
  },
});
