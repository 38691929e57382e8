import { spawn } from "node:child_process";
import { Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut } from "../output.js";

export interface OpenCommandOptions {
  /** Only print the address. */
  readonly print?: boolean;
  readonly path: string;
  readonly json?: boolean;
}

/** `abx open`: prints where a port of a sandbox is reached, and shows it in a browser where this process has one. */
export async function runOpenCommand(sandboxId: string, port: number, options: OpenCommandOptions, notices: Notices): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const url = toPortUrl(sandbox.getHost(port), options.path);
  const token = sandbox.trafficAccessToken;
  if (options.json) await writeJson({ url, isPublic: token === undefined });
  else await writeOut(`${url}\n`);
  if (token !== undefined) {
    await notices.tell("abx: this port is private: a request needs the header E2B-Traffic-Access-Token, which a browser cannot send");
    return EXIT.ok;
  }
  const opener = options.print || options.json || !process.stdout.isTTY ? undefined : findOpener();
  if (opener !== undefined) await show(opener, url, notices);
  return EXIT.ok;
}

/** The platform of this machine speaks plain HTTP; a service has TLS. */
export function toPortUrl(host: string, path: string): string {
  const isLocal = /\.localhost(:\d+)?$/.test(host);
  return new URL(path, `${isLocal ? "http" : "https"}://${host}`).href;
}

/** The program that shows a page, or `undefined` on a machine without a screen. */
function findOpener(): string | undefined {
  if (process.platform === "darwin") return "open";
  return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? "xdg-open" : undefined;
}

async function show(opener: string, url: string, notices: Notices): Promise<void> {
  const failure = await new Promise<Error | undefined>((resolve) => {
    const child = spawn(opener, [url], { detached: true, stdio: "ignore" });
    child.once("error", resolve);
    child.once("spawn", () => {
      child.unref();
      resolve(undefined);
    });
  });
  if (failure !== undefined) await notices.tell(`abx: ${opener} could not be started (${failure.message}); open the address yourself`);
}
