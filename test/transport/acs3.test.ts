import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Acs3Request, createSigningHttpClient, signAcs3, toCanonicalRequest, toSignedHeaders } from "../../src/transport/acs3.js";
import { ACCESS_KEY, StandInControl } from "../fc/support/stand-in-control.js";

const KEY = { accessKeyId: "testAccessKeyId", accessKeySecret: "testAccessKeySecret" };
const HOST = "https://fcsandbox.cn-hangzhou.aliyuncs.com";
const AT = new Date("2026-01-02T03:04:05Z");

async function hashOfCanonical(request: Acs3Request, key = KEY): Promise<string> {
  return createHash("sha256")
    .update(toCanonicalRequest(request, await toSignedHeaders(request, key)))
    .digest("hex");
}

it("a request is signed as the example that the vendor publishes", async () => {
  const headers = await signAcs3(
    {
      method: "POST",
      url: "https://ecs.cn-shanghai.aliyuncs.com/?RegionId=cn-shanghai&ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd",
      action: "RunInstances",
      version: "2014-05-26",
      body: "",
      contentType: undefined,
      at: new Date("2023-10-26T10:22:32Z"),
      nonce: "3156853299f313e23d1673dc12e1703d",
    },
    { accessKeyId: "YourAccessKeyId", accessKeySecret: "YourAccessKeySecret" },
  );
  expect(headers.authorization).toMatch(/Signature=06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0$/);
});

it("a body and its type are part of the signature", async () => {
  const request = {
    method: "POST",
    url: `${HOST}/pop/2026-05-09/api-keys`,
    action: "CreateApiKey",
    version: "2026-05-09",
    body: '{"apiKeyName":"demo","expireTime":"2026-01-02T04:04:05Z"}',
    contentType: "application/json; charset=utf-8",
    at: AT,
    nonce: "00000000-0000-4000-8000-000000000001",
  };
  expect(await hashOfCanonical(request)).toBe("56adfcba005a010bb9241246a6663d0cd25c727fbbd4cb827360354cf8dfbae1");
  const headers = await signAcs3(request, KEY);
  expect(headers["x-acs-content-sha256"]).toBe("e057e667f4dabd39d0b2b07a051bcb38d4ac8e58838a8c2e3bb109502712d726");
  expect(headers.authorization).toBe(
    "ACS3-HMAC-SHA256 Credential=testAccessKeyId,SignedHeaders=content-type;host;x-acs-action;x-acs-content-sha256;x-acs-date;" +
      "x-acs-signature-nonce;x-acs-version,Signature=091fd8b29ede1d0bebb8e64622e368ec2753cbed84a3d9c3e730de4059c8ec48",
  );
});

it("a query is encoded strictly, and the token of a temporary key is part of the signature", async () => {
  const request = {
    method: "GET",
    url: `${HOST}/pop/2026-05-09/quotas/tag?${new URLSearchParams({ tagValue: "team a/b*~\u4e2d" })}`,
    action: "DescribeQuota",
    version: "2026-05-09",
    body: "",
    contentType: undefined,
    at: AT,
    nonce: "00000000-0000-4000-8000-000000000002",
  };
  const key = { ...KEY, securityToken: "sts-token-example" };
  expect(toCanonicalRequest(request, {})).toContain("\ntagValue=team%20a%2Fb%2A~%E4%B8%AD\n");
  expect(await hashOfCanonical(request, key)).toBe("8e551657e8e10b5434db41e841306086554b030e278ddd8a30b637fb9a509e4e");
  expect((await signAcs3(request, key)).authorization).toContain(
    "SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-security-token;x-acs-signature-nonce;x-acs-version," +
      "Signature=f1614854a37ec0115501d5a91995c26e9a3e409e3be39450980e5c0e28553eb8",
  );
});

it("whatever the query holds, what is sent is spelled as it was signed, and says the same", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ unit: "binary" }))), async (pairs) => {
      const control = new StandInControl();
      let sent = new URL(HOST);
      const http = createSigningHttpClient(
        async ({ method, url, headers }) => {
          sent = new URL(url);
          const path = url.slice(sent.origin.length);
          const { status } = control.answer({ method, host: sent.host, path, headers, body: "" });
          return { status, header: () => undefined, body: (async function* () {})(), bytes: async () => new Uint8Array() };
        },
        "2026-05-09",
        ACCESS_KEY,
      );
      const url = `${HOST}/pop/2026-05-09/teams?${new URLSearchParams(pairs)}`;
      expect((await http({ method: "GET", url, headers: { "x-acs-action": "ListTeams" } })).status).toBe(200);
      const sort = (list: readonly (readonly [string, string])[]) => list.map((pair) => JSON.stringify(pair)).sort();
      expect(sort([...sent.searchParams])).toEqual(sort(pairs));
    }),
  );
});
