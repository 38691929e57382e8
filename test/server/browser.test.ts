import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "./support/test-server.js";

const PAGE = `<!doctype html><title>Form</title>
<h1>Hello</h1><input id="name" value="old"><button onclick="document.title = document.querySelector('#name').value; console.log('clicked')">Go</button>
<div style="height: 3000px">tall</div>`;

const hasChromium = (() => {
  try {
    return execFileSync("sh", ["-c", "command -v chromium chromium-browser google-chrome || true"]).length > 0;
  } catch {
    return false;
  }
})();

// `make test` installs one; with CI set it is an error when there is none.
const suite = hasChromium || process.env.CI ? describe : describe.skip;
suite(`browser routes${hasChromium ? "" : " (skipped: no Chromium is installed; apt-get install chromium)"}`, () => {
  let server: TestServer;
  let site: Server;
  let url: string;
  beforeAll(async () => {
    expect(hasChromium, "install chromium").toBe(true);
    server = await startTestServer({}, { groups: { browser: true } });
    site = createServer((req, res) => {
      if (req.url === "/attack") {
        res.setHeader("content-type", "text/html");
        res.end(
          `<script>fetch("${server.url}/shell", {method: "POST", body: '{"command":"id"}'}).then(() => console.log("reached"), () => console.log("refused"))</script>`,
        );
        return;
      }
      res.writeHead(req.url === "/missing" ? 404 : 200, { "content-type": "text/html" });
      res.end(PAGE);
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    site?.close();
  });

  test("go to a page, read it, type, click, and see what it logged", async () => {
    expect((await server.call("POST", "/browser/navigate", { url })).body).toEqual({ url, title: "Form", status: 200 });
    expect((await server.call("GET", "/browser/content?type=text")).body).toMatchObject({
      url,
      title: "Form",
      content: expect.stringContaining("Hello"),
    });
    expect((await server.call("GET", "/browser/content")).body.content).toContain("<h1>Hello</h1>");
    expect((await server.call("POST", "/browser/type", { selector: "#name", text: "Ada", delay: 0, clear: true })).body).toEqual({
      typed: true,
      selector: "#name",
      text: "Ada",
    });
    expect((await server.call("POST", "/browser/click", { selector: "button" })).body).toEqual({ clicked: true, selector: "button" });
    expect((await server.call("POST", "/browser/evaluate", { script: "document.title" })).body).toEqual({ result: "Ada" });
    expect((await server.call("POST", "/browser/evaluate", { script: "Promise.resolve([1, {a: null}])" })).body).toEqual({
      result: [1, { a: null }],
    });
    const { logs } = (await server.call("GET", "/browser/console")).body;
    expect(logs).toMatchObject([{ type: "log", text: "clicked", timestamp: expect.any(Number) }]);
    expect((await server.call("GET", "/browser/console")).body.logs).toEqual([]);
    expect((await server.call("POST", "/browser/navigate", { url: `${url}missing`, wait_until: "load" })).body.status).toBe(404);
  });

  test("take pictures of the whole page, of what is in view and of one element", async () => {
    await server.call("POST", "/browser/navigate", { url });
    const whole = (await server.call("POST", "/browser/screenshot")).body;
    expect(Buffer.from(whole.image_base64, "base64").toString("latin1", 1, 4)).toBe("PNG");
    expect(whole.width).toBe(1280);
    expect(whole.height).toBeGreaterThan(3000);
    expect((await server.call("POST", "/browser/screenshot", { full_page: false, format: "jpeg" })).body).toMatchObject({
      width: 1280,
      height: 720,
    });
    expect((await server.call("POST", "/browser/screenshot", { selector: "button" })).body.height).toBeLessThan(100);
    expect((await server.call("POST", "/browser/screenshot", { selector: "#none" })).status).toBe(404);
  });

  test("print the page", async () => {
    await server.call("POST", "/browser/navigate", { url });
    const { pdf_base64, pages } = (await server.call("POST", "/browser/pdf", { format: "A5", landscape: true })).body;
    expect(Buffer.from(pdf_base64, "base64").toString("latin1", 0, 5)).toBe("%PDF-");
    expect(pages).toBeGreaterThan(3);
    expect((await server.call("POST", "/browser/pdf", { format: "napkin" })).status).toBe(400);
  });

  test("tell a timeout, and go on with a new page after a script that does not end", async () => {
    await server.call("POST", "/browser/navigate", { url });
    expect(await server.call("POST", "/browser/click", { selector: "#none", timeout: 100 })).toMatchObject({
      status: 408,
      body: { type: "TimeoutError" },
    });
    expect(await server.call("POST", "/browser/evaluate", { script: "while (true) {}", timeout: 300 })).toMatchObject({ status: 408 });
    expect((await server.call("POST", "/browser/navigate", { url })).body.title).toBe("Form");
    expect((await server.call("POST", "/browser/evaluate", { script: "throw new Error('no')" })).status).toBe(400);
  });

  test("refuse files of the machine, and pages that call the server", async () => {
    for (const bad of ["file:///etc/passwd", "chrome://version", "view-source:http://x", "javascript:1", "nowhere", ""]) {
      expect((await server.call("POST", "/browser/navigate", { url: bad })).status, bad).toBe(400);
    }
    await server.call("GET", "/browser/console");
    await server.call("POST", "/browser/navigate", { url: `${url}attack` });
    await expect
      .poll(async () => (await server.call("GET", "/browser/console")).body.logs.map(({ text }: { text: string }) => text).join())
      .toMatch(/refused/);
  });

  test("requests at the same time take turns", async () => {
    const titles = await Promise.all(
      [1, 2, 3].map((n) => server.call("POST", "/browser/navigate", { url: `data:text/html,<title>${n}</title>` })),
    );
    expect(titles.map(({ body }) => body.title)).toEqual(["1", "2", "3"]);
  });
});

test("without a browser the answer is 503, and with the group off it is 404", async () => {
  await using broken = await startTestServer({}, { groups: { browser: true }, chromiumPath: "/no/chromium" });
  expect(await broken.call("POST", "/browser/navigate", { url: "about:blank" })).toMatchObject({
    status: 503,
    body: { type: "RuntimeError" },
  });
  await using off = await startTestServer();
  expect(await off.call("POST", "/browser/navigate", { url: "about:blank" })).toMatchObject({
    status: 404,
    body: { error: "Built-in route 'POST /browser/navigate' is disabled" },
  });
});
