import assert from "node:assert/strict";
import { createServer } from "node:http";
import { ALL_TRAFFIC, Sandbox, Secret } from "e2b";

const ADDRESS = "127.0.0.3";

/** Rules for traffic, private ports and secrets, with a server of this machine as the outside. */
export const network = {
  title: "network",
  setUp: async () => {
    const server = createServer((_request, response) => response.end("outside"));
    await new Promise((resolve) => server.listen(0, ADDRESS, resolve));
    const url = `http://${ADDRESS}:${server.address().port}/`;
    const sandbox = await Sandbox.create({ network: { allowOut: [`${ADDRESS}/32`], denyOut: [ALL_TRAFFIC] } });
    return { sandbox, server, url };
  },
  tearDown: async ({ sandbox, server }) => {
    server.closeAllConnections();
    server.close();
    await sandbox.kill();
  },
  checks: {
    "allowOut wins over denyOut, all else is denied": async ({ sandbox, url }) => {
      assert.equal((await sandbox.commands.run(`curl -sS --max-time 10 ${url}`)).stdout, "outside");
      const denied = await sandbox.commands.run("curl -s --max-time 10 -o /dev/null -w '%{http_code}' http://1.1.1.1/ || true");
      assert.match(denied.stdout, /^(403|000)$/);
    },
    "getInfo echoes the rules": async ({ sandbox }) => {
      const { network: rules } = await sandbox.getInfo();
      assert.deepEqual([rules.allowOut, rules.denyOut], [[`${ADDRESS}/32`], [ALL_TRAFFIC]]);
    },
    "updateNetwork replaces the whole set": async ({ sandbox, url }) => {
      await sandbox.updateNetwork({ denyOut: [ALL_TRAFFIC] });
      await assert.rejects(sandbox.commands.run(`curl -sSf --max-time 10 ${url}`));
      await sandbox.updateNetwork({ allowOut: [ADDRESS] });
      assert.equal((await sandbox.commands.run(`curl -sS --max-time 10 ${url}`)).stdout, "outside");
    },
    "allowInternetAccess false leaves no way out": async ({ url }) => {
      const closed = await Sandbox.create({ allowInternetAccess: false });
      try {
        await assert.rejects(closed.commands.run(`curl -sSf --max-time 5 ${url}`));
        assert.equal((await closed.getInfo()).allowInternetAccess, false);
      } finally {
        await closed.kill();
      }
    },
    "allowPublicTraffic false gives a traffic access token": async () => {
      const hidden = await Sandbox.create({ network: { allowPublicTraffic: false } });
      try {
        assert.match(hidden.trafficAccessToken, /^\S{32,}$/);
      } finally {
        await hidden.kill();
      }
    },
    "Secret.create, getInfo, list, update, exists, fill, destroy": async () => {
      const name = `conformance-js-${process.pid}`;
      const made = await Secret.create(name, "hidden", { metadata: { a: "b" } });
      assert.equal(made.name, name);
      assert.equal((await Secret.getInfo(name)).secretId, made.secretId);
      assert.equal((await Secret.update(name, "other")).version, 2);
      const listed = await Secret.list().nextItems();
      assert.ok(listed.some((secret) => secret.name === name));
      assert.equal(await Secret.exists(name), true);
      assert.match(Secret.fill(name), /^\$\{e2b\.secrets\./);
      assert.equal(await Secret.destroy(name), true);
      assert.equal(await Secret.exists(name), false);
    },
  },
};
