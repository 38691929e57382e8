import { spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";

const TIMEOUT_MS = 60_000;

/** The browser of this machine; `undefined` when there is none. */
export function findChromium(): string | undefined {
  return ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Open a page with a module script in headless Chromium; resolves with what the script posts to `/report`. */
export async function runInPage(chromium: string, script: string): Promise<unknown> {
  const profile = await mkdtemp(path.join(tmpdir(), "page-"));
  let settle: { resolve(report: string): void; reject(error: Error): void } = { resolve: () => {}, reject: () => {} };
  const report = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject };
  });
  const server = createServer(async (request, response) => {
    if (request.url === "/report") settle.resolve(await text(request));
    const isScript = request.url === "/page.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(
      isScript
        ? script
        : '<!doctype html><title>test</title><script>onerror = (message) => void fetch("/report", { method: "POST", body: JSON.stringify({ failed: message }) })</script><script type="module" src="/page.js"></script>',
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  // A group of its own: the browser has many processes.
  const browser = spawn(
    chromium,
    [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      `--user-data-dir=${profile}`,
      `http://127.0.0.1:${port}/`,
    ],
    { detached: true, stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env.PATH, HOME: profile } },
  );
  let said = "";
  browser.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    said = (said + chunk).slice(-4000);
  });
  const exited = once(browser, "exit");
  exited.then(() => settle.reject(new Error(`the browser ended before the page reported:\n${said}`))).catch(() => undefined);
  const timer = setTimeout(() => settle.reject(new Error(`the page reported nothing within ${TIMEOUT_MS} ms:\n${said}`)), TIMEOUT_MS);
  try {
    return JSON.parse(await report);
  } finally {
    clearTimeout(timer);
    if (browser.pid !== undefined && browser.exitCode === null) process.kill(-browser.pid, "SIGKILL");
    await exited;
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
