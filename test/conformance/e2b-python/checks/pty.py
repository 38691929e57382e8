import time

from e2b import PtySize

from .support import equal, feed, raises, settle, until


class Terminal:
    """A terminal of either class whose output is collected."""

    def __init__(self, flavor, sandbox):
        self.flavor = flavor
        self.sandbox = sandbox
        self.text = ""

    def collect(self, data):
        self.text += bytes(data).decode(errors="replace")

    async def open(self, cols=80, rows=24, **options):
        size = PtySize(rows=rows, cols=cols)
        if self.flavor.is_async:
            self.handle = await self.sandbox.pty.create(size, on_data=self.collect, timeout=0, **options)
        else:
            self.handle = self.sandbox.pty.create(size, timeout=30, **options)
        return self

    async def attach(self, pid):
        if self.flavor.is_async:
            self.handle = await self.sandbox.pty.connect(pid, on_data=self.collect, timeout=0)
        else:
            self.handle = self.sandbox.pty.connect(pid, timeout=30)
        return self

    async def type(self, text):
        await settle(self.sandbox.pty.send_stdin(self.handle.pid, text.encode()))

    async def shows(self, wanted):
        if self.flavor.is_async:
            await until(lambda: wanted in self.text, f"{wanted!r} on the screen")
            return
        deadline = time.monotonic() + 15
        for _, _, data in self.handle:
            self.collect(data or b"")
            if wanted in self.text:
                return
            assert time.monotonic() < deadline, f"no {wanted!r} in {self.text!r}"
        raise AssertionError(f"the terminal ended without {wanted!r}: {self.text!r}")


async def check_create_input_and_exit(flavor, sandbox):
    terminal = await Terminal(flavor, sandbox).open(cols=101, rows=33, envs={"GIVEN": "here"}, cwd="/tmp")
    await terminal.type('stty size; echo "$GIVEN $TERM $PWD"; exit\n')
    if flavor.is_async:
        result = await terminal.handle.wait()
    else:
        result = terminal.handle.wait(on_pty=terminal.collect)
    equal(result.exit_code, 0)
    assert "33 101" in terminal.text and "here xterm-256color /tmp" in terminal.text, terminal.text


async def check_resize(flavor, sandbox):
    terminal = await Terminal(flavor, sandbox).open()
    await settle(sandbox.pty.resize(terminal.handle.pid, PtySize(rows=40, cols=120)))
    await terminal.type("stty size\n")
    await terminal.shows("40 120")
    await settle(sandbox.pty.kill(terminal.handle.pid))


async def check_connect(flavor, sandbox):
    terminal = await Terminal(flavor, sandbox).open()
    pid = terminal.handle.pid
    await settle(terminal.handle.disconnect())
    again = await Terminal(flavor, sandbox).attach(pid)
    equal(again.handle.pid, pid)
    await again.type("echo con$((1+1))nected\n")
    await again.shows("con2nected")
    await settle(again.handle.kill())


async def check_stream_input(flavor, sandbox):
    terminal = await Terminal(flavor, sandbox).open()
    await feed(flavor, sandbox.pty, terminal.handle.pid, ["echo st$((1+1))", b"reamed\n"])
    await terminal.shows("st2reamed")
    await settle(terminal.handle.kill())


async def check_kill(flavor, sandbox):
    terminal = await Terminal(flavor, sandbox).open()
    equal(await settle(sandbox.pty.kill(terminal.handle.pid)), True)
    await raises("CommandExitException", lambda: terminal.handle.wait())
    equal(await settle(sandbox.pty.kill(terminal.handle.pid)), False)


async def check_unknown_pid(flavor, sandbox):
    await raises("NotFoundException", lambda: sandbox.pty.resize(999_999, PtySize(rows=24, cols=80)))
    await raises("NotFoundException", lambda: sandbox.pty.send_stdin(999_999, b"x"))
