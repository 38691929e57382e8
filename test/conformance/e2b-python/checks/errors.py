from .support import equal, raises, settle


async def check_unknown_sandbox(flavor, sandbox):
    equal(await settle(flavor.Sandbox.kill("nonexistingsandbox")), False)
    await raises("SandboxNotFoundException", lambda: flavor.Sandbox.connect("nonexistingsandbox"))
    await raises("SandboxNotFoundException", lambda: flavor.Sandbox.get_info("nonexistingsandbox"))
    await raises("SandboxNotFoundException", lambda: flavor.Sandbox.set_timeout("nonexistingsandbox", 10))


async def check_killed_sandbox(flavor, sandbox):
    gone = await settle(flavor.Sandbox.create())
    await settle(gone.kill())
    await raises("TimeoutException", lambda: gone.files.read("x"))
    await raises("TimeoutException", lambda: gone.files.list("/"))
    await raises("TimeoutException", lambda: gone.commands.run("true"))


async def check_killed_during_a_command(flavor, sandbox):
    other = await settle(flavor.Sandbox.create())
    handle = await settle(other.commands.run("sleep 600", background=True))
    await settle(other.kill())
    await raises("TimeoutException", lambda: handle.wait())


async def check_bad_requests(flavor, sandbox):
    await raises("SandboxException", lambda: flavor.Sandbox.create("no-such-template"), "404")
    await raises("SandboxException", lambda: flavor.Sandbox.create(timeout=0), "400")
