import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";

/** An address of this machine that nothing else uses; the sandbox is allowed to reach it. */
const ADDRESS = "127.0.0.8";
const ROUNDS = 200;

/** Requests on one kept connection each way, measured inside: through the whole way out, and to a server of the sandbox itself. */
const PROGRAM = `import http.client, http.server, sys, threading, time
class Own(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("content-length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *_): pass
own = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own)
threading.Thread(target=own.serve_forever, daemon=True).start()
def measure(host, port, path):
    times = []
    for _ in range(${ROUNDS}):
        began = time.perf_counter()
        connection = http.client.HTTPConnection(host, port)
        connection.request("GET", path)
        assert connection.getresponse().read() == b"ok"
        connection.close()
        times.append((time.perf_counter() - began) * 1000)
    return sorted(times)[len(times) // 2]
direct = measure("127.0.0.1", own.server_port, "/")
through = measure("127.0.0.1", 49981, sys.argv[1])
print(through - direct)
`;

/** What the way out adds to a small request with a connection of its own. */
export const egressOverhead: Measurement = {
  name: "egress",
  async measure(startPlatform) {
    const server = createServer((_request, response) => response.end("ok"));
    server.listen(0, ADDRESS);
    await once(server, "listening");
    const url = `http://${ADDRESS}:${(server.address() as AddressInfo).port}/`;
    const platform = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandbox = await Sandbox.create({ ...platform, network: { allowOut: [ADDRESS] } });
    await sandbox.files.write("measure.py", PROGRAM);
    await sandbox.commands.run(`python3 measure.py ${url}`);
    const { stdout } = await sandbox.commands.run(`python3 measure.py ${url}`);
    await sandbox.kill();
    server.closeAllConnections();
    server.close();
    return [{ key: "egress_overhead_ms.p50", value: Number(stdout), target: { atMost: 5 } }];
  },
};
