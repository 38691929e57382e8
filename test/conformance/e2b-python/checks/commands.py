import time

from .support import equal, feed, raises, settle, until


async def check_run(flavor, sandbox):
    result = await settle(sandbox.commands.run("echo out; echo err >&2"))
    equal((result.exit_code, result.stdout, result.stderr, result.error), (0, "out\n", "err\n", None))


async def check_run_with_callbacks(flavor, sandbox):
    seen = []
    result = await settle(
        sandbox.commands.run(
            "for i in 1 2 3; do echo $i; sleep 0.1; done; echo é >&2",
            on_stdout=lambda text: seen.append(text),
            on_stderr=lambda text: seen.append("!" + text),
        )
    )
    equal(result.stdout, "1\n2\n3\n")
    assert len(seen) >= 4 and "!é\n" in seen, seen


async def check_large_output(flavor, sandbox):
    result = await settle(sandbox.commands.run("head -c 4194304 /dev/zero | tr '\\0' x"))
    equal(len(result.stdout), 4_194_304)


async def check_failure(flavor, sandbox):
    error = await raises("CommandExitException", lambda: sandbox.commands.run("echo before; exit 7"))
    equal((error.exit_code, error.stdout), (7, "before\n"))


async def check_background_and_wait(flavor, sandbox):
    handle = await settle(sandbox.commands.run("sleep 0.2; echo done", background=True))
    assert handle.pid > 1
    equal((await settle(handle.wait())).stdout, "done\n")


async def check_iterate_over_output(flavor, sandbox):
    if flavor.is_async:
        return
    handle = sandbox.commands.run("echo one; echo two >&2", background=True)
    parts = list(handle)
    equal("".join(out or "" for out, _, _ in parts), "one\n")
    equal("".join(err or "" for _, err, _ in parts), "two\n")


async def check_kill(flavor, sandbox):
    handle = await settle(sandbox.commands.run("sleep 600", background=True))
    equal(await settle(handle.kill()), True)
    error = await raises("CommandExitException", lambda: handle.wait())
    equal(error.exit_code, -1)
    equal(await settle(sandbox.commands.kill(handle.pid)), False)


async def check_list(flavor, sandbox):
    handle = await settle(sandbox.commands.run("sleep 601", background=True, envs={"LISTED": "yes"}, cwd="/tmp"))
    found = next(item for item in await settle(sandbox.commands.list()) if item.pid == handle.pid)
    equal((found.cmd, found.args[-1], found.envs.get("LISTED"), found.cwd), ("/bin/bash", "sleep 601", "yes", "/tmp"))
    await settle(handle.kill())


async def check_connect(flavor, sandbox):
    handle = await settle(sandbox.commands.run('read line; echo "got $line"', background=True, stdin=True))
    other = await settle(sandbox.commands.connect(handle.pid))
    await settle(sandbox.commands.send_stdin(handle.pid, "both\n"))
    equal((await settle(other.wait())).stdout, "got both\n")
    equal((await settle(handle.wait())).stdout, "got both\n")


async def check_disconnect_leaves_it_alive(flavor, sandbox):
    handle = await settle(sandbox.commands.run("sleep 602", background=True))
    await settle(handle.disconnect())
    assert any(item.pid == handle.pid for item in await settle(sandbox.commands.list()))
    equal(await settle(sandbox.commands.kill(handle.pid)), True)


async def check_stdin(flavor, sandbox):
    handle = await settle(sandbox.commands.run("cat", background=True, stdin=True))
    await settle(sandbox.commands.send_stdin(handle.pid, "text "))
    await settle(sandbox.commands.send_stdin(handle.pid, b"bytes"))
    await settle(sandbox.commands.close_stdin(handle.pid))
    equal((await settle(handle.wait())).stdout, "text bytes")


async def check_stdin_through_the_handle(flavor, sandbox):
    handle = await settle(sandbox.commands.run("wc -c", background=True, stdin=True))
    await settle(handle.send_stdin("x" * 100_000))
    await settle(handle.close_stdin())
    equal((await settle(handle.wait())).stdout.strip(), "100000")


async def check_stream_input(flavor, sandbox):
    handle = await settle(sandbox.commands.run("cat", background=True, stdin=True))
    parts = ["one ", b"two ", "x" * 200_000]
    await feed(flavor, sandbox.commands, handle.pid, parts)
    await settle(sandbox.commands.close_stdin(handle.pid))
    equal((await settle(handle.wait())).stdout, "one two " + "x" * 200_000)


async def check_envs_cwd_and_user(flavor, sandbox):
    equal((await settle(sandbox.commands.run('printf %s "$A"', envs={"A": "a'b"}))).stdout, "a'b")
    equal((await settle(sandbox.commands.run("pwd"))).stdout, "/home/user\n")
    equal((await settle(sandbox.commands.run("pwd", cwd="/tmp"))).stdout, "/tmp\n")
    equal((await settle(sandbox.commands.run("id -un", user="root"))).stdout, "root\n")
    equal((await settle(sandbox.commands.run("sudo id -un"))).stdout, "root\n")


async def check_timeout_kills(flavor, sandbox):
    started = time.monotonic()
    await raises("TimeoutException", lambda: sandbox.commands.run("exec sleep 603.25", timeout=1))
    assert time.monotonic() - started < 10

    async def is_gone():
        return not any("603.25" in item.args[-1] for item in await settle(sandbox.commands.list()))

    await until(is_gone, "the end of the command")


async def check_no_timeout(flavor, sandbox):
    equal((await settle(sandbox.commands.run("sleep 1.5; echo late", timeout=0))).stdout, "late\n")


async def check_errors(flavor, sandbox):
    await raises("InvalidArgumentException", lambda: sandbox.commands.run("true", cwd="/no/such/dir"))
    await raises("AuthenticationException", lambda: sandbox.commands.run("true", user="nobody-here"))
    await raises("NotFoundException", lambda: sandbox.commands.connect(999_999))
    await raises("NotFoundException", lambda: sandbox.commands.send_stdin(999_999, "x"))
    equal(await settle(sandbox.commands.kill(999_999)), False)
