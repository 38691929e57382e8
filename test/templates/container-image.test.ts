import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toDebianSuite } from "../../src/control/templates/debian-image.js";
import { Sandbox, Template } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { machineTemplatesDir } from "../support/test-platform.js";

const BUILD_MS = 240_000;
const IMAGE = `localhost/abx-test-${process.pid}:1`;
const NAME = `test-image-${process.pid}-${Date.now()}`;

function whyNoPodman(): string | undefined {
  try {
    execFileSync("podman", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "podman is not installed";
  }
}

/** The root file system of `base` without its accounts, as an image that no registry has. */
function importImage(directory: string): void {
  const templates = machineTemplatesDir();
  const index = JSON.parse(readFileSync(join(templates, "index.json"), "utf8")) as Record<
    string,
    { aliases: string[]; tags: { default: string } }
  >;
  const [templateId, entry] = Object.entries(index).find(([, { aliases }]) => aliases.includes("base")) ?? [];
  const rootfs = realpathSync(join(templates, String(templateId), String(entry?.tags.default), "rootfs"));
  mkdirSync(join(directory, "etc"));
  writeFileSync(
    join(directory, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/bash\n_apt:x:100:65534::/nonexistent:/usr/sbin/nologin\nother:x:1000:1000::/:/bin/sh\n",
  );
  writeFileSync(join(directory, "etc/group"), "root:x:0:\nother:x:1000:\n");
  const tar = join(directory, "image.tar");
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  const left = ["etc/passwd", "etc/group", "home", "usr/share", "var/cache", "var/lib/apt"].map((path) => `--exclude=./${path}`);
  execFileSync("tar", ["-cf", tar, ...owner, ...left, "-C", rootfs, "."]);
  execFileSync("tar", ["-rf", tar, ...owner, "-C", directory, "./etc/passwd", "./etc/group"]);
  execFileSync("podman", ["import", "--change", "ENV FROM_IMAGE=yes", tar, IMAGE], { stdio: "ignore" });
  rmSync(tar);
}

describeOnPlatform("templates from images", (platform) => {
  const at = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  const reason = whyNoPodman();

  describe.skipIf(reason !== undefined)(`of podman${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
    let directory: string;
    beforeAll(() => {
      directory = mkdtempSync(join(tmpdir(), "abx-image-"));
      importImage(directory);
    }, BUILD_MS);
    afterAll(async () => {
      rmSync(directory, { recursive: true, force: true });
      execFileSync("podman", ["rmi", "--force", IMAGE], { stdio: "ignore" });
      await Template.delete(NAME, at);
    });

    it(
      "have the files and variables of the image, the account user, and ids far from those of the machine",
      async () => {
        const template = Template()
          .fromImage(IMAGE)
          .runCmd("id -u > ~/who; echo $FROM_IMAGE >> ~/who")
          .runCmd("touch /etc/by-root", { user: "root" });
        await Template.build(template, NAME, at);
        await using sandbox = await Sandbox.create(NAME, { ...at, timeoutMs: 60_000 });
        const { stdout } = await sandbox.commands.run(
          "whoami; cat ~/who; echo $FROM_IMAGE; stat -c '%u' /etc/by-root /bin/bash; cut -d' ' -f1-20 /proc/self/uid_map",
        );
        const [user, uid, inBuild, inSandbox, byRoot, bash, map = ""] = stdout.split("\n");
        expect([user, uid, inBuild, inSandbox, byRoot, bash]).toEqual(["user", "1001", "yes", "yes", "0", "0"]);
        expect(Number(map.trim().split(/\s+/)[1])).toBeGreaterThanOrEqual(100_000);
        expect(readdirSync(directory)).toEqual(["etc"]);
      },
      BUILD_MS,
    );
  });

  it(
    "that no engine has and no registry gives are an error that says what would help",
    async () => {
      await expect(Template.build(Template().fromImage("localhost/abx-test-no-such:1"), `${NAME}-none`, at)).rejects.toMatchObject({
        name: "BuildError",
        step: "base",
        message: expect.stringMatching(/podman/) as string,
      });
      await Template.delete(`${NAME}-none`, at);
    },
    BUILD_MS,
  );
});

describe("names of images that the machine's package sources can build", () => {
  it.each([
    ["debian", "stable"],
    ["debian:12", "bookworm"],
    ["debian:12.5-slim", "bookworm"],
    ["docker.io/library/debian:trixie-slim", "trixie"],
    ["debian:sid", "sid"],
    ["ubuntu:24.04", undefined],
    ["python:3", undefined],
    ["debian:12-backports", undefined],
    ["r.example/debian:12", undefined],
    ["debian@sha256:00", undefined],
  ])("%s is the suite %s of Debian", (image, suite) => {
    expect(toDebianSuite(image, "debian")).toBe(suite);
  });

  it("belong to the distribution of the machine", () => {
    expect(toDebianSuite("ubuntu:24.04", "ubuntu")).toBe("noble");
    expect(toDebianSuite("ubuntu", "ubuntu")).toBe("noble");
    expect(toDebianSuite("debian:12", "ubuntu")).toBeUndefined();
  });
});
