import { describe, expect, it } from "vitest";
import { ConnectionError, InternalError, ProtocolError, TimeoutError } from "../../src/errors/error-classes.js";
import { type Answer, endFrame, frame, openWireServer, sendJson } from "../transport/support/wire-server.js";
import { openParts } from "./support/daemon-sandbox.js";

const FILE = { "content-type": "text/plain", "content-disposition": "inline" };

async function onServer<T>(
  answer: Answer,
  use: (parts: Awaited<ReturnType<typeof openParts>>) => Promise<T>,
  isBinary = false,
): Promise<T> {
  await using server = await openWireServer((req, res, body) =>
    req.url === "/health" ? res.writeHead(204).end() : answer(req, res, body),
  );
  return await use(await openParts(server.url, { isBinary, retries: 0 }));
}

describe("parts of files", () => {
  it("a server that ignores the range costs a slice here", async () => {
    const answer: Answer = (_req, res) => {
      res.writeHead(200, FILE);
      for (const piece of ["012", "3", "456", "789"]) res.write(piece);
      res.end();
    };
    await onServer(answer, async ({ files }) => {
      expect(await files.read("x", { range: { start: 2, end: 5 } })).toBe("234");
      expect(await files.read("x", { range: { start: 9 } })).toBe("9");
      expect(await files.read("x", { range: { start: 10 } })).toBe("");
      expect(await new Response(await files.read("x", { range: { start: 3, end: 4 }, format: "stream" })).text()).toBe("3");
    });
  });

  it("an answer with other bytes than asked for is refused", async () => {
    for (const range of ["bytes 0-2/10", "bytes 2-9/10", "items 2-4/10", undefined]) {
      const answer: Answer = (_req, res) => {
        res.writeHead(206, { ...FILE, ...(range !== undefined && { "content-range": range }) }).end("012");
      };
      await onServer(answer, async ({ files }) => {
        await expect(files.read("x", { range: { start: 2, end: 5 } })).rejects.toBeInstanceOf(ProtocolError);
      });
    }
  });

  it("no bytes are left behind the end, whatever the server says about it", async () => {
    const answer: Answer = (_req, res) => sendJson(res, 416, { code: 416, message: "behind the end" });
    await onServer(answer, async ({ files }) => {
      expect(await files.read("x", { range: { start: 5 } })).toBe("");
      expect(await new Response(await files.read("x", { range: { start: 5 }, format: "stream" })).text()).toBe("");
      await expect(files.read("x")).rejects.toMatchObject({ statusCode: 416 });
    });
  });
});

describe("slow transfers", () => {
  /** The head and then each byte after a wait of its own; all of it takes longer than one request may. */
  const trickle: Answer = (_req, res) => {
    setTimeout(() => {
      res.writeHead(200, { ...FILE, "content-length": "6" });
      res.flushHeaders();
      let sent = 0;
      const timer = setInterval(() => {
        res.write("x");
        sent += 1;
        if (sent < 6) return;
        clearInterval(timer);
        res.end();
      }, 120);
    }, 120);
  };

  it("STR-08: a download that is streamed lasts as long as bytes come, a whole read keeps its limit", async () => {
    await onServer(trickle, async ({ files }) => {
      expect(await new Response(await files.read("x", { format: "stream", requestTimeoutMs: 400 })).text()).toBe("xxxxxx");
      const patient = await files.read("x", { format: "stream", requestTimeoutMs: 400, streamIdleTimeoutMs: 400 });
      expect(await new Response(patient).text()).toBe("xxxxxx");
      await expect(files.read("x", { requestTimeoutMs: 400 })).rejects.toBeInstanceOf(TimeoutError);
      const strict = await files.read("x", { format: "stream", streamIdleTimeoutMs: 40 });
      await expect(new Response(strict).text()).rejects.toMatchObject({ name: "TimeoutError", message: expect.stringContaining("40 ms") });
    });
    await onServer(
      trickle,
      async ({ files }) => {
        expect(await new Response(await files.readArchive("x", { requestTimeoutMs: 400 })).text()).toBe("xxxxxx");
      },
      true,
    );
  });

  it("STR-08: an upload lasts as long as its source, unless a limit is given", async () => {
    const answer: Answer = (_req, res) => sendJson(res, 200, [{ name: "x", path: "/x", type: "file" }]);
    async function* slow() {
      for (let piece = 0; piece < 4; piece += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        yield "x";
      }
    }
    await onServer(answer, async (parts) => {
      expect(await parts.files.write("x", slow())).toMatchObject({ path: "/x" });
      await expect(parts.files.write("x", slow(), { requestTimeoutMs: 150 })).rejects.toBeInstanceOf(TimeoutError);
    });
  });
});

describe("archives of peers", () => {
  it("a connection that breaks in an archive is an error, never a short archive", async () => {
    const answer: Answer = (_req, res) => {
      res.writeHead(200, { "content-type": "application/x-tar" });
      res.write(Buffer.alloc(1024));
      setTimeout(() => res.socket?.destroy(), 20);
    };
    await onServer(
      answer,
      async ({ files }) => {
        await expect(new Response(await files.readArchive("x")).arrayBuffer()).rejects.toBeInstanceOf(ConnectionError);
      },
      true,
    );
  });

  it("a tar program that fails is an error with its own words, after all bytes it wrote", async () => {
    const answer: Answer = (req, res) => {
      if (req.url?.endsWith("/Stat")) return sendJson(res, 200, { entry: { name: "x", type: "FILE_TYPE_DIRECTORY", path: "/x" } });
      if (!req.url?.endsWith("/Start")) return sendJson(res, 200, {});
      res.writeHead(200, { "content-type": "application/connect+json" });
      const data = (kind: string, text: string) => frame({ event: { data: { [kind]: Buffer.from(text).toString("base64") } } });
      const end = frame({ event: { end: { exitCode: 1, exited: true, status: "exit status 1" } } });
      res.end(
        Buffer.concat([frame({ event: { start: { pid: 7 } } }), data("stdout", "bytes"), data("stderr", "file changed"), end, endFrame()]),
      );
    };
    await onServer(answer, async ({ files }) => {
      const reader = (await files.readArchive("x")).getReader();
      expect(new TextDecoder().decode((await reader.read()).value)).toBe("bytes");
      const failure = await reader.read().catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InternalError);
      expect(failure).toMatchObject({ message: expect.stringMatching(/status 1: file changed/) });
    });
  });
});
