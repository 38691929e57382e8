import datetime

from .support import all_of, equal, raises, settle, until


async def made(flavor, **options):
    return await settle(flavor.Sandbox.create(timeout=120, **options))


async def state_of(sandbox):
    return (await settle(sandbox.get_info())).state.value


async def check_pause_and_connect(flavor, sandbox):
    other = await made(flavor)
    try:
        await settle(other.files.write("a.txt", "a"))
        handle = await settle(other.commands.run("sleep 600", background=True, timeout=0))
        equal(await settle(other.pause()), True)
        equal(await settle(other.pause()), False)
        equal(await state_of(other), "paused")
        equal(await settle(other.is_running()), False)
        await settle(other.connect())
        equal(await settle(other.files.read("a.txt")), "a")
        assert handle.pid in [process.pid for process in await settle(other.commands.list())]
    finally:
        await settle(other.kill())


async def check_the_older_name_of_pause(flavor, sandbox):
    other = await settle(flavor.Sandbox.create(timeout=60))
    try:
        equal(await settle(other.beta_pause()), True)
    finally:
        await settle(other.kill())


async def check_pause_without_memory(flavor, sandbox):
    other = await made(flavor)
    try:
        await settle(other.files.write("a.txt", "a"))
        await settle(other.commands.run("sleep 600", background=True, timeout=0))
        equal(await settle(other.pause(keep_memory=False)), True)
        await settle(other.connect())
        equal(await settle(other.files.read("a.txt")), "a")
        equal(await settle(other.commands.list()), [])
    finally:
        await settle(other.kill())


async def check_pause_of_unknown_sandbox(flavor, sandbox):
    await raises("SandboxNotFoundException", lambda: flavor.Sandbox.pause("nosuchsandbox"))


async def check_pause_on_timeout_and_wake_on_request(flavor, sandbox):
    other = await settle(flavor.Sandbox.create(timeout=2, lifecycle={"on_timeout": "pause", "auto_resume": True}))
    try:

        async def is_paused():
            return await state_of(other) == "paused"

        await until(is_paused, "the pause")
        equal((await settle(other.commands.run("echo woken"))).stdout, "woken\n")
    finally:
        await settle(other.kill())


async def check_snapshots(flavor, sandbox):
    await settle(sandbox.files.write("kept.txt", "kept"))
    snapshot = await settle(sandbox.create_snapshot())
    found = await all_of(sandbox.list_snapshots())
    assert snapshot.snapshot_id in [each.snapshot_id for each in found]
    copy = await settle(flavor.Sandbox.create(snapshot.snapshot_id))
    try:
        equal(await settle(copy.files.read("kept.txt")), "kept")
    finally:
        await settle(copy.kill())
    equal(await settle(flavor.Sandbox.delete_snapshot(snapshot.snapshot_id)), True)
    equal(await settle(flavor.Sandbox.delete_snapshot(snapshot.snapshot_id)), False)


async def check_fork(flavor, sandbox):
    await settle(sandbox.files.write("shared.txt", "shared"))
    forks = await settle(sandbox.fork(count=2, timeout=60))
    try:
        equal(len({fork.sandbox_id for fork in forks} | {sandbox.sandbox_id}), 3)
        for fork in forks:
            equal(await settle(fork.files.read("shared.txt")), "shared")
    finally:
        for fork in forks:
            await settle(fork.kill())


async def check_metrics(flavor, sandbox):
    async def samples():
        return await settle(sandbox.get_metrics())

    sample = (await until(samples, "a sample", 30))[0]
    assert sample.mem_total > 0 and sample.cpu_count >= 1 and sample.disk_total > 0
    end = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    equal(await settle(sandbox.get_metrics(start=end - datetime.timedelta(minutes=1), end=end)), [])
