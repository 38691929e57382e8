import { createHash } from "node:crypto";
import {
  constants,
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from "node:fs";
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import { FileUploadError } from "../errors/build-error.js";
import type { CopyArchive, CopySource, TemplateContext, TemplateContextOptions } from "../sandbox/template/template-files-types.js";
import { DockerIgnore, dockerPattern, isDockerPattern } from "../shared/docker-pattern.js";
import { encodeTarEntry, padded, TAR_BLOCK_BYTES } from "../shared/tar-header.js";

/** A file, directory or link of a context. */
interface ContextEntry {
  /** Relative to the context, with `/` between names. */
  readonly path: string;
  readonly absolute: string;
  readonly kind: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly sizeBytes: number;
  readonly linkPath: string;
}

const IGNORE_FILE = ".dockerignore";
const CHUNK_BYTES = 256 * 1024;

/**
 * Open the directory that a template copies from.
 *
 * @throws {@link FileUploadError} it is not a directory.
 */
export function openTemplateContext({ contextPath, ignorePatterns, stack }: TemplateContextOptions): TemplateContext {
  const root = path.resolve(contextPath ?? callerDirectory(stack) ?? ".");
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory()) {
    throw new FileUploadError(`the context directory ${root} does not exist`, { operation: "template.copy" });
  }
  const rules = new DockerIgnore([...readIgnoreFile(root), ...ignorePatterns]);
  return {
    async hash(copy) {
      const hash = createHash("sha256").update(`COPY ${copy.source} ${copy.destination}`);
      for (const entry of listEntries(root, copy, rules)) {
        // Each part has its length before it, so that no two sets of files read the same.
        for (const part of [entry.path, entry.mode, entry.kind, entry.sizeBytes, entry.linkPath]) {
          const text = String(part);
          hash.update(`${text.length}:${text}`);
        }
        if (entry.kind === "file") for await (const chunk of readContent(entry)) hash.update(chunk);
      }
      return hash.digest("hex");
    },

    async pack(copy, { gzip }) {
      const directory = await mkdtemp(path.join(tmpdir(), "agent-sandbox-copy-"));
      const file = path.join(directory, "files.tar");
      const dispose = () => rm(directory, { recursive: true, force: true });
      try {
        const blocks = Readable.from(packEntries(listEntries(root, copy, rules)), { objectMode: false });
        // The wire asks for the length before the bytes, and a compressed one is known only at its end.
        const target = createWriteStream(file, { mode: 0o600 });
        await (gzip ? pipeline(blocks, createGzip({ level: 6 }), target) : pipeline(blocks, target));
        const { size } = await stat(file);
        return { sizeBytes: size, read: () => createReadStream(file, { highWaterMark: CHUNK_BYTES }), dispose } satisfies CopyArchive;
      } catch (error) {
        await dispose();
        throw error;
      }
    },
  };
}

/** The text of a Dockerfile that is given as its text or its path: a path is one line without blanks that leads to a file. */
export function readDockerfile(contentOrPath: string): string {
  const isPath = !/[\r\n]/.test(contentOrPath) && statSync(contentOrPath, { throwIfNoEntry: false })?.isFile();
  return isPath ? readFileSync(contentOrPath, "utf8") : contentOrPath;
}

/** Directory of the first file of a stack that is not this package; the stack begins in the function that the program called. */
function callerDirectory(stack: string | undefined): string | undefined {
  const frame = stack?.split("\n").find((line) => /^\s*at /.test(line));
  const place = frame === undefined ? undefined : /(?:\(|at (?:async )?)((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/.exec(frame)?.[1];
  if (place === undefined) return undefined;
  return path.dirname(place.startsWith("file://") ? fileURLToPath(place) : place);
}

function readIgnoreFile(root: string): string[] {
  const file = path.join(root, IGNORE_FILE);
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8").split(/\r?\n/) : [];
}

/**
 * Everything that a source stands for, in the order of the paths.
 *
 * @throws {@link FileUploadError} there is nothing, or a link that must be followed leads nowhere or in a circle.
 */
function listEntries(root: string, { source, resolveSymlinks }: CopySource, rules: DockerIgnore): ContextEntry[] {
  const clean = path.posix.normalize(source.replaceAll(path.sep, "/")).replace(/\/+$/, "") || ".";
  const found: ContextEntry[] = [];
  const walk = (relative: string, parents: readonly string[]): void => {
    const absolute = path.join(root, relative);
    const stats = resolveSymlinks ? statOrUndefined(absolute) : lstatSync(absolute, { throwIfNoEntry: false });
    if (stats === undefined) {
      if (lstatSync(absolute, { throwIfNoEntry: false })?.isSymbolicLink()) throw unreadable(`the link ${relative} leads nowhere`);
      return;
    }
    const isIgnored = relative !== "." && rules.isIgnored(relative);
    const mode = stats.mode & 0o7777;
    if (stats.isDirectory()) {
      const real = realpathSync(absolute);
      if (parents.includes(real)) throw unreadable(`the links below ${relative} lead in a circle`);
      if (!isIgnored && relative !== ".") found.push({ path: relative, absolute, kind: "directory", mode, sizeBytes: 0, linkPath: "" });
      if (isIgnored && !rules.hasExceptions) return;
      for (const name of readdirSync(absolute)) walk(relative === "." ? name : `${relative}/${name}`, [...parents, real]);
    } else if (isIgnored) {
      return;
    } else if (stats.isSymbolicLink()) {
      found.push({ path: relative, absolute, kind: "symlink", mode: 0o777, sizeBytes: 0, linkPath: readlinkSync(absolute) });
    } else if (stats.isFile()) {
      found.push({ path: relative, absolute, kind: "file", mode, sizeBytes: stats.size, linkPath: "" });
    }
  };
  for (const match of isDockerPattern(clean) ? expandPattern(root, clean) : [clean]) walk(match, []);
  if (found.length === 0 && clean !== ".") {
    throw unreadable(`no file of the context directory ${root} matches ${JSON.stringify(source)}, or all that do are ignored`);
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** Paths that match a pattern; what is below a match belongs to it already. */
function expandPattern(root: string, pattern: string): string[] {
  const match = dockerPattern(pattern);
  const isDeep = pattern.includes("**");
  const depth = pattern.split("/").length;
  const matches: string[] = [];
  const search = (relative: string, level: number): void => {
    for (const entry of readdirSync(path.join(root, relative), { withFileTypes: true })) {
      const below = relative === "" ? entry.name : `${relative}/${entry.name}`;
      if (match.test(below)) matches.push(below);
      else if (entry.isDirectory() && (isDeep || level < depth)) search(below, level + 1);
    }
  };
  search("", 1);
  return matches.sort();
}

async function* packEntries(entries: readonly ContextEntry[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const { kind, path: name, mode, sizeBytes, linkPath, absolute } of entries) {
    // No times: equal files give an equal archive.
    yield encodeTarEntry({ kind, path: name, mode, sizeBytes, mtimeMs: 0, linkPath });
    if (kind !== "file") continue;
    let sent = 0;
    for await (const chunk of readContent({ absolute, sizeBytes })) {
      sent += chunk.length;
      yield chunk;
    }
    if (sent !== sizeBytes) throw unreadable(`${absolute} changed its size while it was read: try again`);
    yield new Uint8Array(padded(sizeBytes) - sizeBytes);
  }
  yield new Uint8Array(2 * TAR_BLOCK_BYTES);
}

/** The content up to the size that the file had when it was listed. */
async function* readContent({
  absolute,
  sizeBytes,
}: Pick<ContextEntry, "absolute" | "sizeBytes">): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    for (let offset = 0; offset < sizeBytes; ) {
      const buffer = new Uint8Array(Math.min(CHUNK_BYTES, sizeBytes - offset));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

function statOrUndefined(file: string) {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // A link to itself.
    return undefined;
  }
}

function unreadable(message: string): FileUploadError {
  return new FileUploadError(message, { operation: "template.copy" });
}
