import { toPrintable } from "./printable.js";
import { styleFor } from "./style.js";

/** Write to stdout and wait until it is taken, so that a slow reader slows the writer. */
export async function writeOut(data: string | Uint8Array): Promise<void> {
  await write(process.stdout, data);
}

/** Like {@link writeOut}, to stderr. */
export async function writeErr(data: string | Uint8Array): Promise<void> {
  await write(process.stderr, data);
}

/** One JSON document on stdout: for programs, so never any colour or notice beside it. */
export async function writeJson(value: unknown): Promise<void> {
  await writeOut(`${JSON.stringify(value, undefined, 2)}\n`);
}

/** A table on stdout, its header bold on a terminal. */
export async function writeTable(header: readonly string[], rows: readonly (readonly string[])[]): Promise<void> {
  const [first = "", ...rest] = formatTable(header, rows).split("\n");
  await writeOut([styleFor(process.stdout)("bold", first), ...rest].join("\n"));
}

/** Columns as wide as their widest cell, two spaces apart; a row is one line, whatever its cells hold. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows].map((line) => line.map(toPrintable));
  const widths = header.map((_, column) => lines.reduce((width, line) => Math.max(width, line[column]?.length ?? 0), 0));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/**
 * Aborts once stdout takes nothing more. Its reader may have gone away (`abx list | head -1`), which is no error; any other reason, such as a full
 * disk, is the `cause` of the signal's reason.
 */
export function watchClosedOutput(): AbortSignal {
  const closed = new AbortController();
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
    const isReaderGone = cause.code === "EPIPE" || cause.code === "ERR_STREAM_DESTROYED";
    closed.abort(new Error("stdout is closed", isReaderGone ? {} : { cause }));
  });
  // Nobody is left who could be told.
  process.stderr.on("error", () => undefined);
  return closed.signal;
}

function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  // The outcome of a failed write arrives as an error event too, which `watchClosedOutput` handles.
  return new Promise((resolve) => {
    if (data.length === 0) resolve();
    else stream.write(data, () => resolve());
  });
}
