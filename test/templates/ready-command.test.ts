import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type ReadyCommand, waitForFile, waitForPort, waitForProcess, waitForTimeout, waitForURL } from "../../src/index.js";

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function listen(port: number, host: string, ipv6Only = false): Promise<void> {
  const server = createServer().listen({ port, host, ipv6Only });
  open.push(server);
  await once(server, "listening");
}

const isReady = (command: ReadyCommand): Promise<boolean> =>
  new Promise((resolve) => execFile("bash", ["-c", command.getCmd()], (error) => resolve(error === null)));

describe("TPL-01: a port is ready when exactly it is listened on by TCP", () => {
  it("is not satisfied by a port that only begins with the same digits", async () => {
    await listen(21_120, "127.0.0.1");
    expect(await isReady(waitForPort(2_112))).toBe(false);
    expect(await isReady(waitForPort(21_120))).toBe(true);
  });

  it("is not satisfied by UDP", async () => {
    const socket = createSocket("udp4");
    open.push(socket);
    socket.bind(21_131, "127.0.0.1");
    await once(socket, "listening");
    expect(await isReady(waitForPort(21_131))).toBe(false);
  });

  it("is satisfied by a listener on IPv6 alone", async () => {
    await listen(21_142, "::1", true);
    expect(await isReady(waitForPort(21_142))).toBe(true);
  });

  it.each([0, 65_536, 1.5, Number.NaN])("refuses %d", (port) => {
    expect(() => waitForPort(port)).toThrow(expect.objectContaining({ name: "InvalidArgumentError" }));
  });
});

describe("ready commands", () => {
  it("look for a file, a process by its whole name and a status", async () => {
    expect(await isReady(waitForFile("/etc/passwd"))).toBe(true);
    expect(await isReady(waitForFile("/nowhere/it's"))).toBe(false);
    expect(await isReady(waitForProcess("no.such-process"))).toBe(false);
    expect(await isReady(waitForURL("http://127.0.0.1:1/"))).toBe(false);
    expect(waitForTimeout(1).getCmd()).toBe("sleep 1");
    expect(waitForTimeout(2_500).getCmd()).toBe("sleep 3");
  });
});
