// Links between the pages lead somewhere, and files, variables and entries that they name exist.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ROOT } from "../support/compile.js";
import { PAGES, type Page } from "./support/pages.js";

/** Set and read by ourselves alone: what git asks its helper of credentials for. */
const INTERNAL = ["AGENT_SANDBOX_GIT_USER", "AGENT_SANDBOX_GIT_PASSWORD"];
/** Folders whose files pages name by their whole path. */
const FOLDERS = ["src", "test", "docs", "examples", "scripts", "openapi", "proto", "bench", "gen"];

describe("the pages", () => {
  it("link to files and headings that exist", () => {
    const broken = PAGES.flatMap((page) => linksOf(page).filter(({ target }) => !leadsSomewhere(page, target)));
    expect(broken.map(({ place, target }) => `${place}: ${target}`)).toEqual([]);
  });

  it("of docs/ are linked from docs/README.md", () => {
    const index = PAGES.find(({ name }) => name === "docs/README.md");
    const linked = index === undefined ? [] : linksOf(index).map(({ target }) => `docs/${target.split("#")[0]}`);
    const pages = PAGES.map(({ name }) => name).filter((name) => name.startsWith("docs/") && name !== "docs/README.md");
    expect(pages.filter((name) => !linked.includes(name))).toEqual([]);
  });

  it("name files that exist", () => {
    const missing = inCode(new RegExp(`^(?:${FOLDERS.join("|")})/[\\w./@-]+$`)).filter(([, name]) => !existsSync(path.join(ROOT, name)));
    expect(missing).toEqual([]);
  });

  it("name entries that the package has", () => {
    const entries = Object.keys(manifest.exports).map((entry) => entry.replace(/^\./, manifest.name));
    const named = PAGES.flatMap(({ name, text }) =>
      [...text.matchAll(/@agent-sandbox\/sdk(?:\/[\w-]+)*/g)].map(([entry]) => [name, entry] as const),
    );
    // `node_modules/@agent-sandbox/sdk/…` is a directory.
    expect(named.filter(([, entry]) => !entries.includes(entry) && !entry.startsWith(`${manifest.name}/dist`))).toEqual([]);
  });

  it("name variables that something reads", () => {
    const known = variablesOf("src", "scripts", "bench");
    const named = PAGES.flatMap(({ name, text }) =>
      [...text.matchAll(/\bAGENT_SANDBOX_[A-Z0-9_]*[A-Z0-9]\b(?!\*)/g)].map(([variable]) => [name, variable] as const),
    );
    expect(named.filter(([, variable]) => !known.has(variable))).toEqual([]);
  });

  it("have every variable that a reader may set", () => {
    const pages = PAGES.map(({ text }) => text).join("\n");
    const settable = [...variablesOf("src")].filter((variable) => !INTERNAL.includes(variable));
    expect(settable.filter((variable) => !pages.includes(variable))).toEqual([]);
  });
});

function leadsSomewhere(page: Page, target: string): boolean {
  const [file = "", anchor] = target.split("#");
  const full = path.join(path.dirname(page.name), decodeURI(file));
  const name = file === "" ? page.name : full;
  if (!existsSync(path.join(ROOT, name))) return false;
  return anchor === undefined || anchorsOf(name).includes(anchor);
}

/** Anchors of the headings of a page, as GitHub makes them. */
function anchorsOf(name: string): string[] {
  const page = PAGES.find((other) => other.name === name);
  const seen = new Map<string, number>();
  return (page?.prose ?? []).flatMap((line) => {
    const [, heading] = /^#+ (.+)$/.exec(line) ?? [];
    if (heading === undefined) return [];
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return [count === 0 ? slug : `${slug}-${count}`];
  });
}

function linksOf({ name, prose }: Page): { readonly place: string; readonly target: string }[] {
  return prose.flatMap((line, index) =>
    [...line.replaceAll(/`[^`]*`/g, "``").matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, target = ""]) => ({ place: `${name}:${index + 1}`, target }))
      .filter(({ target }) => !/^[a-z]+:/.test(target)),
  );
}

/** Code in the prose of all pages that matches, each with its page. */
function inCode(pattern: RegExp): [page: string, code: string][] {
  return PAGES.flatMap(({ name, prose }) =>
    prose.flatMap((line) =>
      [...line.matchAll(/`([^`]+)`/g)].map(([, code = ""]): [string, string] => [name, code]).filter(([, code]) => pattern.test(code)),
    ),
  );
}

/** Names of variables of ours in the files of these folders. */
function variablesOf(...folders: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const folder of folders) {
    for (const entry of readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !/\.(ts|mjs|sh|py)$/.test(entry.name)) continue;
      const text = readFileSync(path.join(entry.parentPath, entry.name), "utf8");
      for (const [variable] of text.matchAll(/\bAGENT_SANDBOX_[A-Z0-9_]*[A-Z0-9]\b/g)) found.add(variable);
      for (const [, name] of text.matchAll(/\bfromEnvironment\("([A-Z0-9_]+)"/g)) found.add(`AGENT_SANDBOX_${name}`);
    }
  }
  return found;
}
