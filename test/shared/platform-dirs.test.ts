import { describe, expect, it } from "vitest";
import { parsePlatformFile, platformDirs } from "../../src/shared/platform-dirs.js";

describe("platform directories", () => {
  it("follow the table for root and for other users", () => {
    expect(platformDirs({ env: {}, uid: 0, homeDir: "/root" })).toEqual({
      dataDir: "/var/lib/agent-sandbox",
      runDir: "/run/agent-sandbox",
    });
    expect(platformDirs({ env: { XDG_RUNTIME_DIR: "/run/user/7" }, uid: 7, homeDir: "/home/a" })).toEqual({
      dataDir: "/home/a/.local/share/agent-sandbox",
      runDir: "/run/user/7/agent-sandbox",
    });
  });

  it("have a run directory of the user's own where there is no login session", () => {
    expect(platformDirs({ env: {}, uid: 7, homeDir: "/home/a" }).runDir).toBe("/home/a/.local/share/agent-sandbox/run");
  });

  it("are overridden one by one; an empty variable counts as absent", () => {
    const env = { AGENT_SANDBOX_DATA_DIR: "/d", AGENT_SANDBOX_RUN_DIR: "" };
    expect(platformDirs({ env, uid: 0, homeDir: "/root" })).toEqual({ dataDir: "/d", runDir: "/run/agent-sandbox" });
  });
});

describe("platform file", () => {
  it("is not taken from half-written or foreign text", () => {
    for (const text of ["", "{", "null", "[]", '{"pid":1}', '{"version":"1","pid":"1","port":1,"url":"u","apiKey":"k","startedAt":"s"}']) {
      expect(parsePlatformFile(text)).toBeUndefined();
    }
  });
});
