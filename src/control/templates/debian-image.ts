import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { IdRange } from "../drivers/oci/id-range.js";
import { createBaseRecipe } from "./base-recipe.js";
import { type DebianSources, readDebianSources } from "./debian-sources.js";
import type { CachedStep, LayerStore } from "./layer-store.js";
import { readAptConfig, runMmdebstrap } from "./run-mmdebstrap.js";
import { shiftOwnership } from "./shift-ownership.js";

/** What a sandbox needs beside Debian's essential packages. */
const PACKAGES = ["bash", "ca-certificates", "curl", "iproute2", "procps", "sudo"];

/** Names that the image registries use for releases, where they are not the codename. */
const RELEASES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  debian: { latest: "stable", "11": "bullseye", "12": "bookworm", "13": "trixie", "14": "forky", rolling: "unstable" },
  ubuntu: { latest: "noble", "20.04": "focal", "22.04": "jammy", "24.04": "noble", "26.04": "resolute" },
};

/**
 * The suite of the machine's distribution that an image name such as `debian:12` or `ubuntu:noble` means; `undefined` for every other image.
 */
export function toDebianSuite(image: string, distribution: string = readDistribution()): string | undefined {
  const match = /^(?:docker\.io\/)?(?:library\/)?(debian|ubuntu)(?::([a-z0-9.]+?)(?:-slim)?)?$/.exec(image);
  const [, name = "", tag = "latest"] = match ?? [];
  if (match === null || name !== distribution) return undefined;
  const suite = RELEASES[name]?.[/^\d+\.\d+$/.test(tag) && name === "debian" ? (tag.split(".")[0] ?? tag) : tag] ?? tag;
  return /^[a-z]+$/.test(suite) ? suite : undefined;
}

/** Build the root file system of a release from the machine's own package sources, or take the one that was built before. */
export async function openDebianImage(
  suite: string,
  parts: {
    readonly layers: LayerStore;
    readonly idRange: IdRange;
    readonly onProgress: (line: string) => void;
    readonly signal: AbortSignal;
  },
): Promise<{ readonly key: string; readonly layer: string }> {
  const sources = toSuite(readDebianSources(), suite);
  const staged = parts.layers.stage();
  const recipe = createBaseRecipe(staged, sources, await readAptConfig(), PACKAGES);
  const key = `debian-${suite}-${recipe.fingerprint}-${parts.idRange.base}`;
  const cached = parts.layers.find(key);
  if (cached?.layer !== undefined) return { key, layer: cached.layer };
  try {
    mkdirSync(staged, { mode: 0o700 });
    await runMmdebstrap(recipe, parts.onProgress, parts.signal);
    for (const script of recipe.finish) await promisify(execFile)("sh", ["-c", script, "sh", staged]);
    // A link to a python3 that this image does not have.
    rmSync(join(staged, "usr/bin/python"), { force: true });
    shiftOwnership(staged, parts.idRange);
    const { layer }: CachedStep = parts.layers.keep(key, staged);
    return { key, layer: String(layer) };
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

function toSuite({ codename, lines }: DebianSources, suite: string): DebianSources {
  const word = new RegExp(`(?<= )${codename}(?=[- ])`);
  return { codename: suite, lines: lines.map((line) => line.replace(word, suite)) };
}

function readDistribution(): string {
  try {
    return /^ID=["']?([a-z]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}
