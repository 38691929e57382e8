"""What a program does all day, by the means that every release of the client since 2.25 has. Prints {check: "passed" or what went wrong}."""

import json
import time

from e2b import CommandExitException, PtySize, Sandbox

results = {}


def check(name):
    def run(function):
        try:
            function()
            results[name] = "passed"
        except Exception as error:  # each check is judged alone
            results[name] = f"{type(error).__name__}: {error}"

    return run


def expect(found, wanted):
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def until(probe, what):
    deadline = time.monotonic() + 15
    while not (value := probe()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen")
        time.sleep(0.02)
    return value


metadata = {"asked": "by an older client"}
sandbox = Sandbox.create(timeout=300, metadata=metadata, envs={"WHO": "me"})


@check("commands")
def _():
    result = sandbox.commands.run("echo $WHO; echo why >&2")
    expect((result.stdout, result.stderr, result.exit_code), ("me\n", "why\n", 0))
    try:
        sandbox.commands.run("exit 4")
    except CommandExitException as error:
        expect(error.exit_code, 4)
    else:
        raise AssertionError("the failure was not raised")


@check("background")
def _():
    handle = sandbox.commands.run("cat >/tmp/typed", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "héllo\n")
    until(lambda: sandbox.files.read("/tmp/typed") == "héllo\n", "the input")
    expect(handle.kill(), True)
    expect(sandbox.commands.run("sleep 0.1; echo done", background=True).wait().stdout, "done\n")


@check("files")
def _():
    sandbox.files.write("/tmp/here/a.txt", "héllo")
    expect(sandbox.files.read("/tmp/here/a.txt"), "héllo")
    expect([entry.name for entry in sandbox.files.list("/tmp/here")], ["a.txt"])
    sandbox.files.rename("/tmp/here/a.txt", "/tmp/here/b.txt")
    expect([sandbox.files.exists(f"/tmp/here/{name}.txt") for name in "ab"], [False, True])
    sandbox.files.remove("/tmp/here")


@check("watch")
def _():
    sandbox.files.make_dir("/tmp/watched")
    watch = sandbox.files.watch_dir("/tmp/watched")
    sandbox.files.write("/tmp/watched/new", "")
    until(watch.get_new_events, "an event")
    watch.stop()


@check("terminal")
def _():
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    sandbox.pty.send_stdin(terminal.pid, b"echo $((6 * 7)); exit\n")
    text = b"".join(part for _, _, part in terminal if part)
    if b"42\r\n" not in text:
        raise AssertionError(repr(text))


@check("found by id")
def _():
    expect(sandbox.get_info().metadata, metadata)
    found = Sandbox.connect(sandbox.sandbox_id)
    expect(found.commands.run("echo found").stdout, "found\n")
    sandbox.set_timeout(200)
    expect(sandbox.is_running(), True)


@check("kill")
def _():
    expect(sandbox.kill(), True)
    expect(sandbox.is_running(), False)


print(json.dumps(results))
