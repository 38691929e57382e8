import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { FailedPreconditionError, FileNotFoundError } from "../../index.js";
import { replaceFile } from "../../shared/replace-file-node.js";

/** What a request is recognized by. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The sandbox that it is for; absent for the control plane. */
  readonly sandboxId?: string | undefined;
  readonly contentType?: string | undefined;
  /** The body in a form that people read and that is the same for the same request; one line each. */
  readonly body: readonly string[];
}

/** A piece of an answer's body. */
export interface RecordedChunk {
  /** Requests that had begun when it came: in a replay it waits for as many. */
  readonly afterRequests: number;
  readonly text?: string | undefined;
  readonly base64?: string | undefined;
}

/** How an answer ended: by itself, or because somebody no longer wanted it, or because the connection broke. */
export type RecordedEnding = "complete" | "cut" | "failed";

export interface RecordedExchange {
  readonly request: RecordedRequest;
  /** What went wrong before there was an answer. */
  readonly failure?: string;
  /** Absent when there was none until somebody gave up waiting. */
  readonly response?: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly chunks: readonly RecordedChunk[];
    readonly ending: RecordedEnding;
  };
}

/** The file as it is on disk, in order of the beginnings of the requests. */
export interface Recording {
  readonly version: 1;
  readonly exchanges: readonly RecordedExchange[];
}

/** Write in one step, so that no half of a recording is ever replayed. */
export async function writeRecording(file: string, recording: Recording): Promise<void> {
  await mkdir(path.dirname(path.resolve(file)), { recursive: true });
  await replaceFile(file, `${JSON.stringify(recording, undefined, 2)}\n`);
}

/** @throws {@link FileNotFoundError} there is none; {@link FailedPreconditionError} it is no recording of this version. */
export async function readRecording(file: string): Promise<Recording> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new FileNotFoundError(`there is no recording ${file}; make it with recordTo(${JSON.stringify(file)})`, { cause });
  });
  let recording: Partial<Recording>;
  try {
    recording = JSON.parse(text) as Partial<Recording>;
  } catch (cause) {
    throw new FailedPreconditionError(`${file} is not JSON, so no recording; record it anew`, { cause });
  }
  if (recording.version !== 1 || !Array.isArray(recording.exchanges)) {
    throw new FailedPreconditionError(`${file} is not a recording that this version reads; record it anew`);
  }
  return recording as Recording; // the line above
}
