import type { RequestOptions } from "../transport/config.js";
import type { DaemonAnswer, DaemonHttp } from "../transport/daemon-http.js";

/** Options of one archive call. */
export interface ArchiveCallOptions extends RequestOptions {
  readonly operation: string;
  readonly user?: string | undefined;
}

/** Directories as tar archives; nothing is held back whole. */
export interface ArchiveClient {
  /** Everything below a directory but what the patterns name. The iterable rejects when the archive is not complete. */
  read(path: string, options: ArchiveCallOptions & { readonly ignore: readonly string[] }): Promise<AsyncIterable<Uint8Array>>;
  /** Unpack into a directory, which is made when missing. */
  write(path: string, archive: AsyncIterable<Uint8Array>, options: ArchiveCallOptions): Promise<void>;
}

/** Archives over the endpoints that only our daemon has; it says itself which 404 means a missing file. */
export function createHttpArchives(http: DaemonHttp): ArchiveClient {
  return {
    async read(path, { user, ignore, ...call }) {
      const answer = await http.send({
        ...call,
        method: "POST",
        target: "/agentsandbox/files/pack",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ path, ...(user !== undefined && { username: user }), ignore }),
        isIdempotent: true,
      });
      answer.deadline.stopTimer();
      return readBody(answer);
    },
    async write(path, archive, { user, ...call }) {
      const query = new URLSearchParams({ path, ...(user !== undefined && { username: user }) });
      const answer = await http.send({
        ...call,
        method: "POST",
        target: `/agentsandbox/files/unpack?${query}`,
        headers: { "content-type": "application/x-tar" },
        body: archive,
      });
      try {
        await answer.response.bytes();
      } catch (error) {
        throw await answer.explain(error);
      } finally {
        answer.deadline[Symbol.dispose]();
      }
    },
  };
}

async function* readBody({ response, deadline, explain }: DaemonAnswer): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* response.body;
  } catch (error) {
    throw await explain(error);
  } finally {
    deadline[Symbol.dispose]();
  }
}
