import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { components } from "../../gen/openapi/terminals.js";
import { TicketStore } from "../../src/daemon/terminal/ticket-store.js";
import { AuthenticationError, PermissionDeniedError, RateLimitError } from "../../src/errors/error-classes.js";
import { startTestDaemon, type TestDaemon } from "./support/process-daemon.js";
import { openTerminal } from "./support/terminal-client.js";

const TOKEN = "secret-of-this-sandbox";
const ORIGIN = "https://app.example.org";
const start = { cols: 80, rows: 24, cmd: "/bin/cat" };

describe("tickets of a secured sandbox", () => {
  let sandbox: TestDaemon;
  let base: string;
  beforeAll(async () => {
    sandbox = await startTestDaemon();
    sandbox.daemon.state.apply({ accessToken: TOKEN });
    base = `ws://127.0.0.1:${sandbox.port}/agentsandbox/pty`;
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  const post = (body: unknown, token: string | undefined = TOKEN) =>
    fetch(`${sandbox.baseUrl}/agentsandbox/pty/tickets`, {
      method: "POST",
      headers: { "content-type": "application/json", ...(token !== undefined && { "x-access-token": token }) },
      body: JSON.stringify(body),
    });
  const ticketFor = async (body: unknown): Promise<string> => {
    const response = await post(body);
    expect(response.status).toBe(201);
    expect(response.headers.get("cache-control")).toBe("no-store");
    return ((await response.json()) as components["schemas"]["Ticket"]).ticket;
  };
  /** A terminal that lives until the end of the test. */
  const startWithToken = async () => {
    const terminal = await openTerminal(base, { headers: { "X-Access-Token": TOKEN } });
    terminal.send({ type: "start", ...start });
    const { pid } = await terminal.frame("ready");
    return { ...terminal, pid };
  };

  it("a terminal needs the token or a ticket, and so does a ticket", async () => {
    await expect(openTerminal(base)).rejects.toMatchObject({ status: 401 });
    await expect(openTerminal(base, { headers: { "X-Access-Token": `${TOKEN}x` } })).rejects.toMatchObject({ status: 401 });
    expect((await fetch(`${sandbox.baseUrl}/agentsandbox/pty`)).status).toBe(401);
    expect((await post({ start }, "wrong")).status).toBe(401);
    expect((await fetch(`${sandbox.baseUrl}/agentsandbox/pty/tickets`, { method: "POST", body: "{}" })).status).toBe(401);
  });

  it("opens a new terminal once, from a page, and a replay is refused", async () => {
    const ticket = await ticketFor({ start });
    const terminal = await openTerminal(`${base}?ticket=${ticket}`, { origin: ORIGIN });
    await terminal.frame("ready");
    await expect(openTerminal(`${base}?ticket=${ticket}`, { origin: ORIGIN })).rejects.toMatchObject({ status: 401 });
    terminal.send({ type: "kill" });
    expect(await terminal.frame("exit")).toMatchObject({ outcome: "signaled" });
  });

  it("is bound to its terminal, and used up by an attempt on another", async () => {
    const [mine, other] = [await startWithToken(), await startWithToken()];
    const ticket = await ticketFor({ pid: mine.pid });
    await expect(openTerminal(`${base}?ticket=${ticket}&pid=${other.pid}`)).rejects.toMatchObject({ status: 403 });
    await expect(openTerminal(`${base}?ticket=${ticket}&pid=${mine.pid}`)).rejects.toMatchObject({ status: 401 });
    const attached = await openTerminal(`${base}?ticket=${await ticketFor({ pid: mine.pid })}`);
    expect(await attached.frame("ready")).toMatchObject({ pid: mine.pid });
    // What it opens is decided, so a start is none of the frames that it takes.
    attached.send({ type: "start", ...start });
    expect(await attached.frame("error")).toMatchObject({ code: 400 });
    for (const terminal of [mine, other]) {
      terminal.send({ type: "kill" });
      await terminal.frame("exit");
    }
  });

  it("refuses forged and expired ones", async () => {
    const ticket = await ticketFor({ start, expires_in_ms: 1 });
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const forged of [ticket, "", "x", ticket.slice(1), `${ticket}A`, "A".repeat(43), "%00", TOKEN]) {
      await expect(openTerminal(`${base}?ticket=${forged}`), forged).rejects.toMatchObject({ status: 401 });
    }
    // The token does not make a wrong ticket right.
    await expect(openTerminal(`${base}?ticket=x`, { headers: { "X-Access-Token": TOKEN } })).rejects.toMatchObject({ status: 401 });
  });

  it("refuses a page without a ticket, and one of another origin than the ticket's", async () => {
    await expect(openTerminal(base, { origin: ORIGIN, headers: { "X-Access-Token": TOKEN } })).rejects.toMatchObject({ status: 403 });
    for (const origin of [undefined, "https://evil.example.org", `${ORIGIN}.evil.org`, "null"]) {
      const ticket = await ticketFor({ start, origin: ORIGIN });
      const options = origin === undefined ? {} : { origin };
      await expect(openTerminal(`${base}?ticket=${ticket}`, options)).rejects.toMatchObject({ status: 403 });
    }
    const terminal = await openTerminal(`${base}?ticket=${await ticketFor({ start, origin: ORIGIN })}`, { origin: ORIGIN });
    await terminal.frame("ready");
    terminal.send({ type: "kill" });
    await terminal.frame("exit");
  });

  it("dies with the token of the sandbox, and opens no other sandbox", async () => {
    await using other = await startTestDaemon();
    const ticket = await ticketFor({ start });
    await expect(openTerminal(`ws://127.0.0.1:${other.port}/agentsandbox/pty?ticket=${ticket}`)).rejects.toMatchObject({ status: 401 });
    sandbox.daemon.state.apply({ accessToken: "another" });
    await expect(openTerminal(`${base}?ticket=${ticket}`)).rejects.toMatchObject({ status: 401 });
    sandbox.daemon.state.apply({ accessToken: TOKEN });
  });

  it.each([
    [{}, 400],
    [{ pid: 1, start }, 400],
    [{ pid: 0 }, 400],
    [{ pid: "1" }, 400],
    [{ pid: 4_194_999 }, 404],
    [{ start: { cols: 0, rows: 24 } }, 400],
    [{ start: { cols: 65_536, rows: 24 } }, 400],
    [{ start, expires_in_ms: 60_001 }, 400],
    [{ start, expires_in_ms: 0 }, 400],
    [{ start, origin: 1 }, 400],
    [[], 400],
    [{ start: { ...start, cwd: "x".repeat(1024 * 1024) } }, 413],
  ])("refuses the request %j", async (body, status) => {
    expect((await post(body)).status).toBe(status);
  });
});

describe("an open sandbox", () => {
  it("asks pages for a ticket all the same", async () => {
    await using sandbox = await startTestDaemon();
    const url = `ws://127.0.0.1:${sandbox.port}/agentsandbox/pty`;
    await expect(openTerminal(url, { origin: ORIGIN })).rejects.toMatchObject({ status: 403 });
    const terminal = await openTerminal(url);
    terminal.send({ type: "start", ...start });
    await terminal.frame("ready");
    terminal.send({ type: "kill" });
    await terminal.frame("exit");
  });
});

describe("the store of tickets", () => {
  const grant = { kind: "attach", pid: 1 } as const;

  it("keeps a bounded number, for their time only", () => {
    let now = 0;
    const store = new TicketStore(() => now);
    const issue = () => store.issue({ grant, origin: undefined, lifeMs: 1_000, accessToken: undefined });
    const tickets = Array.from({ length: 1_000 }, issue);
    expect(new Set(tickets).size).toBe(1_000);
    expect(issue).toThrow(RateLimitError);
    now = 999;
    expect(store.redeem(tickets[0] ?? "", undefined, undefined)).toEqual(grant);
    now = 1_000;
    expect(() => store.redeem(tickets[1] ?? "", undefined, undefined)).toThrow(AuthenticationError);
    expect(issue).not.toThrow();
  });

  it("uses a ticket up with the first attempt", () => {
    const store = new TicketStore();
    const ticket = store.issue({ grant, origin: ORIGIN, lifeMs: 1_000, accessToken: TOKEN });
    expect(() => store.redeem(ticket, undefined, TOKEN)).toThrow(PermissionDeniedError);
    expect(() => store.redeem(ticket, ORIGIN, TOKEN)).toThrow(AuthenticationError);
  });
});
