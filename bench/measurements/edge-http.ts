import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile } from "../timing.js";

const BODY_BYTES = 256 * 1024 * 1024;
const ROUNDS = 3;
const PORT = 8000;

const SERVER = `import { createServer } from "node:http";
const piece = Buffer.alloc(1024 * 1024);
createServer((request, response) => {
  const size = Number(request.url.slice(1));
  response.writeHead(200, { "content-length": size });
  let sent = 0;
  const more = () => {
    while (sent < size) {
      sent += piece.length;
      if (!response.write(piece)) return response.once("drain", more);
    }
    response.end();
  };
  more();
}).listen(${PORT});
`;

/** A large body from a port of the sandbox, by the host name of the port. */
export const edgeHttp: Measurement = {
  name: "edge",
  async measure(startPlatform) {
    const platform = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandbox = await Sandbox.create({ ...platform });
    await sandbox.files.write("server.mjs", SERVER);
    await sandbox.commands.run("node server.mjs", { background: true, timeoutMs: 0 });
    const host = sandbox.getHost(PORT);
    while ((await get(platform.sandboxUrl, host, 0)) !== 200) await sleep(50);
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const began = performance.now();
      await get(platform.sandboxUrl, host, BODY_BYTES);
      rates.push(BODY_BYTES / 1e6 / ((performance.now() - began) / 1000));
    }
    await sandbox.kill();
    return [{ key: "edge_http_mb_s", value: percentile(rates, 0.5), target: { atLeast: 300 } }];
  },
};

/** Read a body of `size` bytes to its end; gives the status. */
async function get(url: string, host: string, size: number): Promise<number> {
  const outgoing = request(url, { path: `/${size}`, headers: { host } });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  return response.statusCode ?? 0;
}
