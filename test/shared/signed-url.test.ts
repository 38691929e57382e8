import { expect, it } from "vitest";
import { signFileUrl } from "../../src/shared/signed-url.js";

it("a file URL is signed as the daemons of this wire check it", async () => {
  const grant = { path: "hello.txt", operation: "read", username: "user" } as const;
  const token = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
  expect(await signFileUrl(grant, token)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  expect(await signFileUrl({ ...grant, expiresAtSeconds: 1 }, token)).not.toBe(await signFileUrl(grant, token));
});
