import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { resolvePath } from "../../src/daemon/path-resolver.js";
import { openUserDatabase } from "../../src/daemon/user-database.js";
import { requestUser, resolveUser } from "../../src/daemon/users.js";
import { AuthenticationError, InvalidArgumentError } from "../../src/errors/error-classes.js";

let etc: string;
beforeAll(async () => {
  etc = await mkdtemp(join(tmpdir(), "etc-"));
  await writeFile(
    join(etc, "passwd"),
    [
      "root:x:0:0:root:/root:/bin/bash",
      "zoë:x:1000:1000:Zoë,,,:/home/zoë:/bin/zsh",
      "bare:x:1001:50::",
      "zoë:x:7:7::/:/x",
      "bad line",
      "odd:x:-1:0::/:",
      "",
    ].join("\n"),
  );
  await writeFile(join(etc, "group"), "root:x:0:\nzoë:x:1000:zoë\nsudo:x:27:bare,zoë\ndocker:x:998: zoë\nsudo2:x:27:zoë\n");
});
afterAll(() => rm(etc, { recursive: true }));

const basic = (credentials: string) => new Headers({ authorization: `Basic ${Buffer.from(credentials).toString("base64")}` });

describe("resolveUser", () => {
  it("gives ids, every group once with the primary first, home and shell", () => {
    const context = { users: openUserDatabase(etc), defaultUser: "root" };
    expect(resolveUser("zoë", context)).toEqual({
      name: "zoë",
      uid: 1000,
      gid: 1000,
      groups: [1000, 27, 998],
      home: "/home/zoë",
      shell: "/bin/zsh",
    });
    expect(resolveUser("bare", context)).toEqual({ name: "bare", uid: 1001, gid: 50, groups: [50, 27], home: "/", shell: "/bin/sh" });
  });

  it("takes the default for no name and refuses unknown names", () => {
    const context = { users: openUserDatabase(etc), defaultUser: "root" };
    expect(resolveUser(undefined, context).uid).toBe(0);
    expect(resolveUser("", context).uid).toBe(0);
    for (const name of ["mallory", "odd", "bad line", "1000", "__proto__"])
      expect(() => resolveUser(name, context)).toThrow(AuthenticationError);
    expect(() => resolveUser(undefined, { users: openUserDatabase(join(etc, "none")), defaultUser: "user" })).toThrow(AuthenticationError);
  });
});

describe("requestUser", () => {
  it("reads the user of Basic credentials in UTF-8 and ignores the password", () => {
    expect(requestUser(basic("zoë:"))).toBe("zoë");
    expect(requestUser(basic("root:secret:x"))).toBe("root");
    expect(requestUser(basic("root"))).toBe("root");
    expect(requestUser(new Headers({ authorization: `bAsIc   ${Buffer.from("root:").toString("base64")}` }))).toBe("root");
  });

  it("names nobody without a header, with an empty user or with another scheme", () => {
    expect(requestUser(new Headers())).toBeUndefined();
    expect(requestUser(basic(":"))).toBeUndefined();
    expect(requestUser(new Headers({ authorization: "Bearer abc" }))).toBeUndefined();
  });

  it("refuses credentials that are no base64 or no UTF-8", () => {
    expect(() => requestUser(new Headers({ authorization: "Basic !!" }))).toThrow(AuthenticationError);
    expect(() => requestUser(new Headers({ authorization: `Basic ${Buffer.from([0xff, 0x3a]).toString("base64")}` }))).toThrow(
      AuthenticationError,
    );
  });
});

describe("resolvePath", () => {
  const user = { home: "/home/zoë" };

  it("FIL-35: follows the rules of home, working directory and absolute paths", () => {
    const cases: [path: string, workdir: string | undefined, expected: string][] = [
      ["", undefined, "/home/zoë"],
      ["", "/work", "/work"],
      ["", "~/w", "/home/zoë/w"],
      ["~", "/work", "/home/zoë"],
      ["~/", undefined, "/home/zoë"],
      ["~/a/../b", undefined, "/home/zoë/b"],
      ["x", "/work", "/home/zoë/x"],
      ["../../../x", undefined, "/x"],
      ["/a//b/./c/", undefined, "/a/b/c"],
      ["/..", undefined, "/"],
      ["a/~/b", undefined, "/home/zoë/a/~/b"],
      ["%2e%2e/x", undefined, "/home/zoë/%2e%2e/x"],
    ];
    for (const [path, defaultWorkdir, expected] of cases) expect(resolvePath(path, user, { defaultWorkdir })).toBe(expected);
  });

  it("refuses the homes of others and NUL", () => {
    for (const path of ["~bob", "~bob/x", "~~", "a\0", "\0"]) expect(() => resolvePath(path, user, {})).toThrow(InvalidArgumentError);
  });
});
