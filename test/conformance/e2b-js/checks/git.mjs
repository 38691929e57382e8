import assert from "node:assert/strict";
import { Sandbox } from "e2b";

export const git = {
  title: "git",
  setUp: async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 300_000 });
    await sandbox.git.configureUser("Ada", "ada@example.org");
    return { sandbox, git: sandbox.git, files: sandbox.files };
  },
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "init, add, commit and status": async ({ git, files }) => {
      await git.init("repo", { initialBranch: "main" });
      await files.write("repo/a.txt", "a");
      assert.equal((await git.status("repo")).hasUntracked, true);
      await git.add("repo");
      assert.equal((await git.status("repo")).hasStaged, true);
      await git.commit("repo", "first 'quoted' message");
      const status = await git.status("repo");
      assert.deepEqual([status.isClean, status.currentBranch], [true, "main"]);
    },
    "branches, checkout, reset and restore": async ({ git, files }) => {
      await git.createBranch("repo", "topic");
      assert.equal((await git.branches("repo")).currentBranch, "topic");
      await git.checkoutBranch("repo", "main");
      await git.deleteBranch("repo", "topic", { force: true });
      assert.deepEqual((await git.branches("repo")).branches, ["main"]);
      await files.write("repo/a.txt", "changed");
      await git.restore("repo", { paths: ["a.txt"] });
      assert.equal(await files.read("repo/a.txt"), "a");
      await git.reset("repo", { mode: "hard" });
    },
    "clone, push and pull over a path": async ({ git, files }) => {
      await git.init("/home/user/bare.git", { bare: true, initialBranch: "main" });
      await git.remoteAdd("repo", "origin", "/home/user/bare.git");
      assert.equal(await git.remoteGet("repo", "origin"), "/home/user/bare.git");
      await git.push("repo", { remote: "origin", branch: "main" });
      await git.clone("/home/user/bare.git", { path: "/home/user/copy" });
      assert.equal(await files.read("copy/a.txt"), "a");
      await git.pull("/home/user/copy");
    },
    "dangerouslyAuthenticate leaves credentials for git": async ({ git, sandbox }) => {
      await git.dangerouslyAuthenticate({ username: "ada", password: "p w'd", host: "git.example" });
      const asked = await sandbox.commands.run("printf 'protocol=https\\nhost=git.example\\n\\n' | git credential fill");
      assert.match(asked.stdout, /username=ada\npassword=p w'd/);
    },
    "setConfig and getConfig": async ({ git }) => {
      await git.setConfig("conformance.key", "value", { scope: "global" });
      assert.equal(await git.getConfig("conformance.key", { scope: "global" }), "value");
      assert.equal(await git.getConfig("conformance.none"), undefined);
    },
  },
};
