// Runs inside a sandbox, as `node run-function.mjs <module> <arguments> <result>`: calls the default export of the module with the
// arguments that the second file holds, and leaves how it ended in the third, which appears when it is complete.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type CallFrame, encodeFrame } from "../call-frame.js";
import { decodeValue } from "../value-codec.js";

async function main([modulePath, argumentsPath, resultPath]: readonly string[]): Promise<void> {
  if (modulePath === undefined || argumentsPath === undefined || resultPath === undefined) throw new Error("three paths are needed");
  const encoded = readFileSync(argumentsPath, "utf8");
  rmSync(argumentsPath);
  const text = encodeFrame(await call(modulePath, encoded));
  const partPath = `${resultPath}.part`;
  writeFileSync(partPath, text);
  renameSync(partPath, resultPath);
  // The call is over, whatever timers and servers it left.
  process.exit(0);
}

async function call(modulePath: string, encoded: string): Promise<CallFrame> {
  try {
    const module = (await import(pathToFileURL(path.resolve(modulePath)).href)) as { readonly default: (...args: unknown[]) => unknown };
    return { type: "returned", value: await module.default(...(decodeValue(encoded) as unknown[])) };
  } catch (error) {
    return { type: "threw", error };
  }
}

await main(process.argv.slice(2));
