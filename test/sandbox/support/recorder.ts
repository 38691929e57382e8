import { createServer, request as openRequest } from "node:http";
import type { AddressInfo } from "node:net";

/** Method, target, content type and content coding of a request. */
export type RecordedRequest = readonly [method: string, target: string, type: string | undefined, coding: string | undefined];

/** A proxy that notes what passes. */
export interface Recorder {
  readonly url: string;
  readonly requests: RecordedRequest[];
  close(): Promise<void>;
}

export async function openRecorder(targetUrl: string): Promise<Recorder> {
  const requests: RecordedRequest[] = [];
  const { hostname, port } = new URL(targetUrl);
  const server = createServer((req, res) => {
    requests.push([req.method ?? "", req.url ?? "", req.headers["content-type"], req.headers["content-encoding"]]);
    const upstream = openRequest({ hostname, port, method: req.method, path: req.url, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    });
    upstream.on("error", () => res.destroy());
    req.pipe(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
