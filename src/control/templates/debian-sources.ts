import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { readOrEmpty } from "../read-or-empty.js";

/** Package sources of the release that this machine runs, without those of third parties. */
export interface DebianSources {
  /** `bookworm`, `noble`, … */
  readonly codename: string;
  /** Lines of the one-line format of sources.list(5). */
  readonly lines: readonly string[];
}

const DEFAULT_SUFFIXES = ["", "-updates", "-security"];
const KEPT_COMPONENTS = ["main", "universe"];
const ARCHIVE_KEYRING = /(debian|ubuntu|raspbian)-archive/;

/**
 * Read the machine's own apt sources, so that a build uses the mirrors which its owner chose.
 *
 * @throws {@link FailedPreconditionError} not a Debian-family machine, or no source of its release is configured.
 */
export function readDebianSources(root = "/"): DebianSources {
  const osRelease = readOrEmpty(join(root, "etc/os-release"));
  const codename = /^VERSION_CODENAME=["']?([a-z]+)/m.exec(osRelease)?.[1];
  if (codename === undefined) {
    throw new FailedPreconditionError("The base template is built with mmdebstrap, which needs a machine of the Debian family.");
  }
  const lines = sourceFiles(join(root, "etc/apt")).flatMap((file) => {
    const text = readOrEmpty(file);
    return file.endsWith(".sources") ? parseDeb822(text) : parseOneLine(text);
  });
  const kept = lines.flatMap((entry) => toReleaseLine(entry, codename));
  if (kept.length === 0) {
    throw new FailedPreconditionError(`No apt source of ${codename} is configured in /etc/apt, so the base template cannot be built.`);
  }
  return { codename, lines: [...new Set(kept)] };
}

interface SourceEntry {
  readonly uri: string;
  readonly suite: string;
  readonly components: readonly string[];
  readonly signedBy: string | undefined;
}

function toReleaseLine({ uri, suite, components, signedBy }: SourceEntry, codename: string): string[] {
  const isOfRelease = DEFAULT_SUFFIXES.some((suffix) => suite === codename + suffix);
  const kept = components.filter((component) => KEPT_COMPONENTS.includes(component));
  const isThirdParty = signedBy !== undefined && !ARCHIVE_KEYRING.test(signedBy);
  if (!isOfRelease || isThirdParty || !kept.includes("main")) return [];
  return [`deb ${signedBy === undefined ? "" : `[signed-by="${signedBy}"] `}${uri} ${suite} ${kept.join(" ")}`];
}

function parseOneLine(text: string): SourceEntry[] {
  return text.split("\n").flatMap((line) => {
    const match = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line.replace(/#.*/, "").trim());
    if (match === null) return [];
    const signedBy = /signed-by=["']?([^\s"',]+)/i.exec(match[1] ?? "")?.[1];
    return [{ uri: String(match[2]), suite: String(match[3]), components: String(match[4]).split(/\s+/), signedBy }];
  });
}

function parseDeb822(text: string): SourceEntry[] {
  const withoutComments = text.replace(/^#.*\n?/gm, "");
  return withoutComments.split(/\n\s*\n/).flatMap((stanza) => {
    const field = (name: string) => new RegExp(`^${name}:(.*(?:\\n[ \\t].*)*)`, "im").exec(stanza)?.[1]?.trim();
    const words = (name: string) => field(name)?.split(/\s+/) ?? [];
    if (field("Enabled")?.toLowerCase() === "no" || !words("Types").includes("deb")) return [];
    const key = field("Signed-By");
    // A key that stands inline in the file is one of the machine's own trusted keys; mmdebstrap finds the keyring itself.
    const signedBy = key?.startsWith("/") ? key.split(/[\s,]+/)[0] : undefined;
    return words("URIs").flatMap((uri) => words("Suites").map((suite) => ({ uri, suite, components: words("Components"), signedBy })));
  });
}

function sourceFiles(aptDir: string): string[] {
  const parts = join(aptDir, "sources.list.d");
  const names = existsSync(parts) ? readdirSync(parts).filter((name) => /\.(list|sources)$/.test(name)) : [];
  return [join(aptDir, "sources.list"), ...names.sort().map((name) => join(parts, name))];
}
