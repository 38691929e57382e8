import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBaseRecipe } from "../../src/control/templates/base-recipe.js";
import { readDebianSources } from "../../src/control/templates/debian-sources.js";
import { shiftOwnership } from "../../src/control/templates/shift-ownership.js";
import { withLock } from "../../src/control/templates/staging-lock.js";
import { createTemplateId } from "../../src/control/templates/template-id.js";
import { parseTemplateReference } from "../../src/control/templates/template-reference.js";
import { createTemplateStore, type TemplateBuild, type TemplateStore } from "../../src/control/templates/template-store.js";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "abx-templates-"));
});
afterEach(() => rmSync(root, { recursive: true }));

describe("template reference", () => {
  it.each([
    ["base", { namespace: undefined, name: "base", tag: "default" }],
    ["  Base ", { namespace: undefined, name: "base", tag: "default" }],
    ["base:v1.2-rc_3", { namespace: undefined, name: "base", tag: "v1.2-rc_3" }],
    ["team/my-template_2", { namespace: "team", name: "my-template_2", tag: "default" }],
  ])("%j is read", (text, expected) => {
    expect(parseTemplateReference(text)).toEqual(expected);
  });

  it.each([
    "",
    " ",
    "a/b/c",
    "/a",
    "a/",
    ":x",
    "a:",
    "a:b:c",
    "a b",
    "../x",
    "a\0b",
    "ä",
    "a:3f0c1d1e-6a2b-4c55-9d7a-0a1b2c3d4e5f",
    "x".repeat(200),
  ])("%j is refused as invalid", (text) => {
    expect(() => parseTemplateReference(text)).toThrow(expect.objectContaining({ name: "InvalidArgumentError" }));
  });
});

describe("template store", () => {
  let store: TemplateStore;
  beforeEach(() => {
    store = createTemplateStore(join(root, "templates"));
  });

  const publish = (build: Partial<TemplateBuild> = {}, tag = "default") => {
    const staged = join(root, "templates", `.building-${createTemplateId()}`);
    mkdirSync(join(staged, "rootfs"), { recursive: true });
    const templateId = build.templateId ?? createTemplateId();
    const whole = {
      buildId: createTemplateId(),
      hostIdBase: 100_000,
      cpuCount: 2,
      memoryMb: 512,
      createdAt: "2026-01-01T00:00:00.000Z",
      recipe: "r",
      ...build,
      templateId,
    };
    return store.publish(staged, whole, { aliases: ["base"], tags: [tag] });
  };

  it("finds a template by alias, by id and by tag", async () => {
    const first = await publish();
    expect(store.resolve("base")).toEqual(first);
    expect(store.resolve(first.templateId)).toEqual(first);
    const second = await publish({ templateId: first.templateId }, "v2");
    expect(store.resolve("base:v2").buildId).toBe(second.buildId);
    expect(store.resolve("base").buildId).toBe(first.buildId);
    expect(store.list()).toEqual([first]);
  });

  it("LIF-18: says which template or tag is unknown", async () => {
    expect(() => store.resolve("base")).toThrow(
      expect.objectContaining({ name: "TemplateError", message: "template 'base' not found; `abx setup` builds it" }),
    );
    await publish();
    expect(() => store.resolve("other")).toThrow("template 'other' not found");
    expect(() => store.resolve("team/base")).toThrow("template 'team/base' not found");
    expect(() => store.resolve("base:nope")).toThrow("tag 'nope' does not exist for template 'base'");
    expect(() => store.resolve("constructor")).toThrow("template 'constructor' not found");
    expect(() => store.resolve("base:constructor")).toThrow("tag 'constructor' does not exist");
  });

  it("removes builds that no tag names and nothing stands on", async () => {
    const old = await publish();
    const used = await publish({ templateId: old.templateId });
    const current = await publish({ templateId: old.templateId });
    store.prune(new Set([join(used.directory, "rootfs")]));
    expect(readdirSync(join(root, "templates", old.templateId)).sort()).toEqual([used.buildId, current.buildId].sort());
  });
});

describe("package sources", () => {
  const machine = (files: Record<string, string>) => {
    mkdirSync(join(root, "etc/apt/sources.list.d"), { recursive: true });
    writeFileSync(join(root, "etc/os-release"), "ID=debian\nVERSION_CODENAME=bookworm\n");
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "etc/apt", name), text);
    return readDebianSources(root);
  };

  it("are those of the machine's release, in both formats, without third parties, backports and source packages", () => {
    const { codename, lines } = machine({
      "sources.list": [
        "# deb http://old.example/debian bookworm main",
        "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://mirror.example/debian bookworm main contrib",
        "deb-src http://mirror.example/debian bookworm main",
        "deb http://mirror.example/debian bookworm-backports main",
        "deb https://vendor.example/apt cloud-bookworm main",
        "deb [signed-by=/etc/apt/keyrings/vendor.gpg] https://vendor.example/debian bookworm main",
      ].join("\n"),
      "sources.list.d/debian.sources": [
        "Types: deb deb-src",
        "# a comment",
        "URIs: http://mirror.example/debian-security",
        "Suites: bookworm-security",
        " bookworm-updates",
        "Components: main non-free",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
        "",
        "Types: deb",
        "Enabled: no",
        "URIs: http://disabled.example/",
        "Suites: bookworm",
        "Components: main",
      ].join("\n"),
    });
    expect(codename).toBe("bookworm");
    const key = '[signed-by="/usr/share/keyrings/debian-archive-keyring.gpg"]';
    expect(lines).toEqual([
      `deb ${key} http://mirror.example/debian bookworm main`,
      `deb ${key} http://mirror.example/debian-security bookworm-security main`,
      `deb ${key} http://mirror.example/debian-security bookworm-updates main`,
    ]);
  });

  it("that are missing are said so", () => {
    expect(() => readDebianSources(root)).toThrow(/Debian family/);
    expect(() => machine({ "sources.list": "" })).toThrow(/No apt source of bookworm/);
  });

  it("do not change the fingerprint of the template, proxies neither", () => {
    const recipe = (line: string, config: string) => createBaseRecipe("/target", { codename: "bookworm", lines: [line] }, config);
    const plain = recipe("deb http://a bookworm main", "");
    const proxied = recipe(
      "deb http://b bookworm main",
      'APT::X "1";\nAcquire::http::Proxy "http://proxy:3128";\nAcquire::http::Timeout "";\n',
    );
    expect(proxied.fingerprint).toBe(plain.fingerprint);
    expect(proxied.args).toContain('--aptopt=Acquire::http::Proxy "http://proxy:3128"');
    expect(proxied.args.filter((arg) => arg.includes("Timeout") || arg.includes("APT::X"))).toEqual([]);
    expect(recipe("x", "").fingerprint).not.toBe(createBaseRecipe("/target", { codename: "trixie", lines: [] }, "").fingerprint);
  });
});

describe.skipIf(process.getuid?.() !== 0)("ownership", () => {
  it("moves into the range once, keeps setuid bits and does not follow links", () => {
    const tree = join(root, "rootfs");
    const outside = join(root, "outside");
    mkdirSync(join(tree, "bin"), { recursive: true });
    writeFileSync(outside, "");
    writeFileSync(join(tree, "bin/sudo"), "");
    chmodSync(join(tree, "bin/sudo"), 0o4755);
    symlinkSync(outside, join(tree, "link"));
    symlinkSync(tree, join(tree, "loop"));
    for (let run = 0; run < 2; run += 1) shiftOwnership(tree, { base: 300_000, size: 65_536 });
    for (const name of [".", "bin", "bin/sudo", "link", "loop"]) {
      expect(lstatSync(join(tree, name))).toMatchObject({ uid: 300_000, gid: 300_000 });
    }
    expect(lstatSync(join(tree, "bin/sudo")).mode & 0o7777).toBe(0o4755);
    expect(lstatSync(outside).uid).toBe(0);
  });
});

describe("build lock", () => {
  it("lets one work run at a time and takes over the lock of a dead process", async () => {
    writeFileSync(join(root, "lock"), "999999999 1");
    const order: string[] = [];
    const work = (name: string) =>
      withLock(
        root,
        "lock",
        async () => {
          order.push(`${name} in`);
          await Promise.resolve();
          order.push(`${name} out`);
        },
        () => {},
      );
    await Promise.all([work("a"), work("b")]);
    expect(order.map((step) => step.split(" ")[1])).toEqual(["in", "out", "in", "out"]);
    expect(readdirSync(root)).toEqual([]);
  });
});
