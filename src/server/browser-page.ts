import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { RouteFailure } from "./route-failure.js";

/** Something that the page logged. */
export interface ConsoleEntry {
  readonly type: string;
  readonly text: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

const MAX_ENTRIES = 1000;
const MAX_TEXT_LENGTH = 10_000;
const CHROMIUM_NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const LAUNCH_TIMEOUT_MS = 60_000;

/**
 * The one page of a server, in a Chromium that is started with the first use. Users of it take turns. A browser or page that died is
 * replaced with the next use.
 */
export class BrowserPage {
  readonly #chromiumPath: string | undefined;
  #browser: Promise<Browser> | undefined;
  #page: Page | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #entries: ConsoleEntry[] = [];
  #isClosed = false;

  constructor(chromiumPath: string | undefined) {
    this.#chromiumPath = chromiumPath;
  }

  /**
   * Do something with the page, when everybody before is done.
   *
   * @throws {@link RouteFailure} 503: no browser is installed; 408: the driver gave up waiting; 400: it refused.
   */
  async use<T>(action: (page: Page) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(async () => {
      try {
        return await action(await this.#open());
      } catch (error) {
        throw toFailure(error);
      }
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Give the page up, as for a script in it that does not end. */
  async discard(): Promise<void> {
    const page = this.#page;
    this.#page = undefined;
    // Closing waits for the page, which may never answer; the context goes with its renderer.
    void page
      ?.context()
      .close()
      .catch(() => {});
  }

  /** What the page logged since the last call. */
  takeEntries(): readonly ConsoleEntry[] {
    return this.#entries.splice(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const browser = await this.#browser?.catch(() => undefined);
    await browser?.close().catch(() => {});
  }

  async #open(): Promise<Page> {
    if (this.#page !== undefined && !this.#page.isClosed()) return this.#page;
    const browser = await this.#openBrowser();
    const page = await (await browser.newContext({ acceptDownloads: false })).newPage();
    page.on("console", (message) => this.#log(message.type(), message.text()));
    page.on("pageerror", (error) => this.#log("error", error.message));
    page.on("crash", () => {
      if (this.#page === page) this.#page = undefined;
    });
    this.#page = page;
    return page;
  }

  async #openBrowser(): Promise<Browser> {
    const known = await this.#browser?.catch(() => undefined);
    if (known?.isConnected()) return known;
    if (this.#isClosed) throw new RouteFailure(503, "RuntimeError", "the server is closing", "service_busy");
    this.#browser = launch(this.#chromiumPath);
    return this.#browser;
  }

  #log(type: string, text: string): void {
    this.#entries.push({ type, text: text.slice(0, MAX_TEXT_LENGTH), timestamp: Date.now() / 1000 });
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
  }
}

async function launch(chromiumPath: string | undefined): Promise<Browser> {
  let driver: typeof import("playwright-core");
  try {
    driver = await import("playwright-core");
  } catch {
    throw new RouteFailure(503, "RuntimeError", "playwright-core is not installed: npm install playwright-core", "failed_precondition");
  }
  const executablePath = chromiumPath ?? findChromium();
  try {
    return await driver.chromium.launch({
      headless: true,
      timeout: LAUNCH_TIMEOUT_MS,
      // The sandbox of the browser needs namespaces of its own, which the sandbox around it does not give.
      chromiumSandbox: false,
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
      ...(executablePath !== undefined && { executablePath }),
    });
  } catch (error) {
    const [said = ""] = error instanceof Error ? error.message.split("\n") : [];
    throw new RouteFailure(
      503,
      "RuntimeError",
      `no Chromium can be started: ${said}; install one, or name it in AGENT_SANDBOX_CHROMIUM`,
      "failed_precondition",
    );
  }
}

function findChromium(): string | undefined {
  const directories = (process.env.PATH ?? "").split(":").filter((directory) => directory !== "");
  return directories.flatMap((directory) => CHROMIUM_NAMES.map((name) => join(directory, name))).find((file) => existsSync(file));
}

function toFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof RouteFailure) return error;
  const [said = ""] = error.message.split("\n");
  if (error.name === "TimeoutError") return new RouteFailure(408, "TimeoutError", said, "timeout");
  return new RouteFailure(400, "BrowserError", said, "invalid_argument");
}
