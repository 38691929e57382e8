import type { Page } from "playwright-core";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { pause } from "../../shared/pause.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { isYes, oneOf, optionalText, positiveOr, requiredText } from "../fields.js";
import { imageSize } from "../image-size.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const NAVIGATE_MS = 30_000;
const CLICK_MS = 5_000;
const EVALUATE_MS = 10_000;
const MAX_MS = 300_000;
const MAX_CONTENT_LENGTH = 10_000_000;
const MAX_DELAY_MS = 1_000;
const DEFAULT_DELAY_MS = 50;
const PROTOCOLS = ["http:", "https:", "about:", "data:"];
const WAITS = ["commit", "domcontentloaded", "load", "networkidle"] as const;
const PAPERS = ["Letter", "Legal", "Tabloid", "Ledger", "A0", "A1", "A2", "A3", "A4", "A5", "A6"] as const;

type BrowserRoutes =
  | "browserNavigate"
  | "browserScreenshot"
  | "getBrowserContent"
  | "browserClick"
  | "browserType"
  | "browserEvaluate"
  | "browserPdf"
  | "getBrowserConsole";

/** One page of a Chromium. */
export function createBrowserHandlers({ browser }: ServerServices): Pick<RouteHandlers, BrowserRoutes> {
  return {
    browserNavigate: ({ body }) => {
      const url = requiredText(body, "url");
      assertUrl(url);
      const waitUntil = oneOf(body.wait_until, "wait_until", WAITS, "networkidle");
      return browser.use(async (page) => {
        const answer = await page.goto(url, { waitUntil, timeout: positiveOr(NAVIGATE_MS, body.timeout, MAX_MS) });
        return { url: page.url(), title: await page.title(), status: answer?.status() ?? 0 };
      });
    },
    browserScreenshot: ({ body }) => {
      const type = body.format === "jpeg" ? "jpeg" : "png";
      const selector = optionalText(body, "selector");
      return browser.use(async (page) => {
        const bytes =
          selector === undefined
            ? await page.screenshot({ type, fullPage: body.full_page !== false })
            : await (await firstOf(page, selector)).screenshot({ type, timeout: CLICK_MS });
        return { image_base64: bytes.toString("base64"), ...imageSize(bytes) };
      });
    },
    getBrowserContent: ({ query }) => {
      const kind = oneOf(query.get("type"), "type", ["html", "text"], "html");
      return browser.use(async (page) => {
        // What a reader sees, which is what the contract says; the text content has scripts and hidden parts too.
        // biome-ignore lint/performance/useDomNodeTextContent: the reason stands above
        const content = kind === "html" ? await page.content() : await page.innerText("body");
        return { content: content.slice(0, MAX_CONTENT_LENGTH), url: page.url(), title: await page.title() };
      });
    },
    browserClick: ({ body }) => {
      const selector = requiredText(body, "selector");
      return browser.use(async (page) => {
        await page.click(selector, { timeout: positiveOr(CLICK_MS, body.timeout, MAX_MS) });
        return { clicked: true, selector };
      });
    },
    browserType: ({ body }) => {
      const selector = requiredText(body, "selector");
      const { text } = body;
      if (typeof text !== "string") throw new InvalidArgumentError("'text' is required and must be a text");
      const delay = typeof body.delay === "number" && body.delay >= 0 ? Math.min(body.delay, MAX_DELAY_MS) : DEFAULT_DELAY_MS;
      return browser.use(async (page) => {
        const target = page.locator(selector).first();
        if (body.clear === true || isYes(String(body.clear))) await target.fill("", { timeout: CLICK_MS });
        await target.pressSequentially(text, { delay, timeout: Math.min(MAX_MS, CLICK_MS + 2 * delay * text.length) });
        return { typed: true, selector, text };
      });
    },
    browserEvaluate: ({ body }) => {
      const script = requiredText(body, "script");
      const timeoutMs = positiveOr(EVALUATE_MS, body.timeout, MAX_MS);
      return browser.use(async (page) => {
        const over = new AbortController();
        const timeout = pause(timeoutMs, over.signal).then(async () => {
          // Nothing else of the page answers while a script in it runs.
          await browser.discard();
          throw new RouteFailure(408, "TimeoutError", `the script was given up after ${timeoutMs} ms`, "timeout");
        });
        try {
          return { result: (await Promise.race([page.evaluate(script), timeout])) ?? null };
        } finally {
          timeout.catch(() => {});
          over.abort();
        }
      });
    },
    browserPdf: ({ body }) => {
      const format = oneOf(body.format, "format", PAPERS, "A4");
      return browser.use(async (page) => {
        const bytes = await page.pdf({ format, landscape: body.landscape === true });
        const pages = bytes.toString("latin1").match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 1;
        return { pdf_base64: bytes.toString("base64"), pages: Math.max(1, pages) };
      });
    },
    getBrowserConsole: () => ({ logs: [...browser.takeEntries()] }),
  };
}

/** Files of this machine are not pages: the file routes have bounds of their own. */
function assertUrl(url: string): void {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === undefined || !PROTOCOLS.includes(protocol)) {
    throw new InvalidArgumentError(`'url' must be an address of http, https, about or data, not '${url.slice(0, 200)}'`);
  }
}

async function firstOf(page: Page, selector: string) {
  const found = page.locator(selector);
  if ((await found.count()) === 0) throw new RouteFailure(404, "ValueError", `no element matches '${selector}'`, "not_found");
  return found.first();
}
