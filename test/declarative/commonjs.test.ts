import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";
import { expect, it } from "vitest";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv } from "../support/run-abx.js";
import { digest } from "./support/shapes.js";

const SUPPORT = fileURLToPath(new URL("support", import.meta.url));

describeOnPlatform("remote functions of CommonJS", (platform) => {
  it("take along what their compiled module requires", async () => {
    // Beside the file, so that its imports mean the same.
    const directory = `${SUPPORT}/.compiled-${randomUUID()}`;
    await mkdir(directory);
    try {
      const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS };
      const code = ts.transpileModule(await readFile(`${SUPPORT}/required.ts`, "utf8"), { compilerOptions }).outputText;
      await writeFile(`${directory}/required.cjs`, code.replaceAll("./shapes.js", "../shapes.ts"));
      const env = { ...process.env, ...platformEnv(platform) };
      const { stdout } = await promisify(execFile)(process.execPath, [`${directory}/required.cjs`], { env });
      expect(JSON.parse(stdout)).toEqual({ area: Math.PI, digest: digest("x"), isElsewhere: true });
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
