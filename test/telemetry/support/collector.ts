import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

interface OtlpAttribute {
  readonly key: string;
  readonly value: {
    readonly stringValue?: string;
    readonly intValue?: string;
    readonly boolValue?: boolean;
    readonly doubleValue?: number;
  };
}

/** A span as it stands in an export. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly status: { readonly code?: number };
}

interface OtlpExport {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly ExportedSpan[] }[];
  }[];
}

/** A server that takes spans in OTLP/HTTP JSON. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  readonly paths: string[];
  readonly headers: IncomingHttpHeaders[];
  readonly bodies: string[];
  spans(): readonly ExportedSpan[];
  /** Resolves with the first span that fits. */
  until(fits: (span: ExportedSpan) => boolean): Promise<ExportedSpan>;
  /** Answer so from now on; 0 is never. */
  answerWith(status: number): void;
}

export async function openCollector(): Promise<Collector> {
  const paths: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const bodies: string[] = [];
  let status = 200;
  let waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      paths.push(`${request.method} ${request.url}`);
      headers.push(request.headers);
      bodies.push(Buffer.concat(chunks).toString());
      if (status !== 0) response.writeHead(status).end("{}");
      for (const check of waiting.splice(0)) check();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const spans = () =>
    bodies.flatMap((body) =>
      (JSON.parse(body) as OtlpExport).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
    );
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    headers,
    bodies,
    spans,
    until: (fits) =>
      new Promise((resolve) => {
        const check = () => {
          const found = spans().find(fits);
          if (found === undefined) waiting.push(check);
          else resolve(found);
        };
        check();
      }),
    answerWith: (next) => {
      status = next;
    },
    [Symbol.asyncDispose]: async () => {
      waiting = [];
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Attributes of an exported span as plain values. */
export function attributesOf({ attributes }: Pick<ExportedSpan, "attributes">): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.intValue === undefined ? Object.values(value)[0] : Number(value.intValue)]),
  );
}
