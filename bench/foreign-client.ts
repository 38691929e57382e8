import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { BenchPlatform } from "./measurement.js";

/** What is measured of a sandbox of the unmodified npm package `e2b`. */
export interface ForeignSandbox {
  readonly files: {
    read(path: string, options?: { format: "bytes" }): Promise<unknown>;
    write(path: string, data: string | ArrayBuffer): Promise<unknown>;
    list(path: string): Promise<readonly unknown[]>;
  };
  readonly commands: { run(command: string): Promise<{ readonly stdout: string }> };
  readonly pty: {
    create(options: {
      readonly cols: number;
      readonly rows: number;
      readonly timeoutMs: number;
      onData(data: Uint8Array): void;
    }): Promise<{ readonly pid: number }>;
    sendInput(pid: number, data: Uint8Array): Promise<void>;
  };
  kill(): Promise<unknown>;
}

/** Make a sandbox of template `base` that lives for `timeoutMs`. */
export type CreateForeign = (
  platform: Pick<BenchPlatform, "apiUrl" | "sandboxUrl" | "apiKey">,
  timeoutMs: number,
) => Promise<ForeignSandbox>;

const CONFORMANCE = new URL("../test/conformance/e2b-js/package.json", import.meta.url);
const INSTALL = fileURLToPath(new URL("../scripts/conformance.sh", import.meta.url));

/** Load the newest `e2b` client as the conformance suite installs it; the returned function makes sandboxes with it. */
export async function loadForeignClient(): Promise<CreateForeign> {
  execFileSync(INSTALL, ["--install-only", "e2b-js"], { stdio: ["ignore", "ignore", "inherit"] });
  const entry = createRequire(CONFORMANCE).resolve("e2b");
  // The package is not ours, so nothing here knows its types but by this.
  const { Sandbox } = (await import(pathToFileURL(entry).href)) as {
    readonly Sandbox: { create(template: string, options: Record<string, string | number>): Promise<ForeignSandbox> };
  };
  return ({ apiUrl, sandboxUrl, apiKey }, timeoutMs) => Sandbox.create("base", { apiUrl, sandboxUrl, apiKey, timeoutMs });
}
