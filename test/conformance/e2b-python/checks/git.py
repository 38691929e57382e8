from .support import equal, settle


async def check_init_add_commit_and_status(flavor, sandbox):
    git = sandbox.git
    await settle(git.configure_user("Ada", "ada@example.org"))
    await settle(git.init("repo", initial_branch="main"))
    await settle(sandbox.files.write("repo/a.txt", "a"))
    equal((await settle(git.status("repo"))).has_untracked, True)
    await settle(git.add("repo"))
    equal((await settle(git.status("repo"))).has_staged, True)
    await settle(git.commit("repo", "first 'quoted' message"))
    status = await settle(git.status("repo"))
    equal([status.is_clean, status.current_branch], [True, "main"])


async def check_branches_checkout_reset_and_restore(flavor, sandbox):
    git = sandbox.git
    await settle(git.create_branch("repo", "topic"))
    equal((await settle(git.branches("repo"))).current_branch, "topic")
    await settle(git.checkout_branch("repo", "main"))
    await settle(git.delete_branch("repo", "topic", force=True))
    equal((await settle(git.branches("repo"))).branches, ["main"])
    await settle(sandbox.files.write("repo/a.txt", "changed"))
    await settle(git.restore("repo", ["a.txt"]))
    equal(await settle(sandbox.files.read("repo/a.txt")), "a")
    await settle(git.reset("repo", mode="hard"))


async def check_clone_push_and_pull_over_a_path(flavor, sandbox):
    git = sandbox.git
    await settle(git.init("/home/user/bare.git", bare=True, initial_branch="main"))
    await settle(git.remote_add("repo", "origin", "/home/user/bare.git"))
    equal(await settle(git.remote_get("repo", "origin")), "/home/user/bare.git")
    await settle(git.push("repo", remote="origin", branch="main"))
    await settle(git.clone("/home/user/bare.git", path="/home/user/copy"))
    equal(await settle(sandbox.files.read("copy/a.txt")), "a")
    await settle(git.pull("/home/user/copy"))


async def check_settings_and_credentials(flavor, sandbox):
    git = sandbox.git
    await settle(git.set_config("conformance.key", "value", scope="global"))
    equal(await settle(git.get_config("conformance.key", scope="global")), "value")
    equal(await settle(git.get_config("conformance.none")), None)
    await settle(git.dangerously_authenticate(username="ada", password="p w'd", host="git.example"))
    asked = await settle(sandbox.commands.run("printf 'protocol=https\\nhost=git.example\\n\\n' | git credential fill"))
    assert "username=ada\npassword=p w'd" in asked.stdout, asked.stdout
