import datetime
import urllib.error
import urllib.request
import uuid

from e2b import SandboxQuery, SandboxState

from .support import all_of, equal, raises, settle, until


async def check_create_runs_commands(flavor, sandbox):
    equal((await settle(sandbox.commands.run("echo hello"))).stdout, "hello\n")


async def check_create_with_template_envs_and_metadata(flavor, sandbox):
    mark = uuid.uuid4().hex
    other = await settle(flavor.Sandbox.create("base", envs={"GIVEN": "a b"}, metadata={"mark": mark}, timeout=60))
    try:
        equal((await settle(other.commands.run('printf %s "$GIVEN"'))).stdout, "a b")
        equal((await settle(other.get_info())).metadata, {"mark": mark})
    finally:
        await settle(other.kill())


async def check_create_without_internet_access(flavor, sandbox):
    other = await settle(flavor.Sandbox.create(allow_internet_access=False))
    try:
        equal((await settle(other.get_info())).allow_internet_access, False)
    finally:
        await settle(other.kill())


async def check_context_manager_kills(flavor, sandbox):
    if flavor.is_async:
        async with await flavor.Sandbox.create() as other:
            pass
    else:
        with flavor.Sandbox.create() as other:
            pass
    equal(await settle(other.is_running()), False)


async def check_is_running(flavor, sandbox):
    equal(await settle(sandbox.is_running()), True)


async def check_get_info(flavor, sandbox):
    info = await settle(sandbox.get_info())
    equal(info.sandbox_id, sandbox.sandbox_id)
    equal(info.state, SandboxState.RUNNING)
    equal(info.name, "base")
    assert info.cpu_count >= 1 and info.memory_mb >= 128
    assert info.end_at > info.started_at
    equal((await settle(flavor.Sandbox.get_info(sandbox.sandbox_id))).sandbox_id, sandbox.sandbox_id)


async def check_connect_static_and_instance(flavor, sandbox):
    other = await settle(flavor.Sandbox.connect(sandbox.sandbox_id))
    equal(other.sandbox_id, sandbox.sandbox_id)
    equal((await settle(other.commands.run("echo again"))).stdout, "again\n")
    before = (await settle(sandbox.get_info())).end_at
    await settle(other.connect(timeout=5))
    equal((await settle(sandbox.get_info())).end_at, before)


async def check_set_timeout(flavor, sandbox):
    for seconds in (60, 600):
        await settle(sandbox.set_timeout(seconds))
        left = ((await settle(sandbox.get_info())).end_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        assert abs(left - seconds) < 5, left
    await settle(flavor.Sandbox.set_timeout(sandbox.sandbox_id, 600))


async def check_end_of_life(flavor, sandbox):
    other = await settle(flavor.Sandbox.create(timeout=2))

    async def is_gone():
        return not await settle(other.is_running())

    await until(is_gone, "the end of the sandbox")
    await raises("SandboxNotFoundException", lambda: other.get_info())


async def check_kill_twice(flavor, sandbox):
    other = await settle(flavor.Sandbox.create())
    equal(await settle(other.kill()), True)
    equal(await settle(flavor.Sandbox.kill(other.sandbox_id)), False)
    equal(await settle(other.is_running()), False)


async def check_list_pages_and_filters(flavor, sandbox):
    mark = {"mark & = %": f"välue {uuid.uuid4().hex}"}
    first = await settle(flavor.Sandbox.create(metadata=mark))
    second = await settle(flavor.Sandbox.create(metadata=mark))
    try:
        pages = flavor.Sandbox.list(query=SandboxQuery(metadata=mark), limit=1)
        equal([item.sandbox_id for item in await settle(pages.next_items())], [second.sandbox_id])
        assert pages.has_next and pages.next_token
        equal([item.sandbox_id for item in await settle(pages.next_items())], [first.sandbox_id])
        equal(pages.has_next, False)
        oldest = await all_of(flavor.Sandbox.list(query=SandboxQuery(metadata=mark), order="asc"))
        equal([item.sandbox_id for item in oldest], [first.sandbox_id, second.sandbox_id])
        running = await all_of(flavor.Sandbox.list(query=SandboxQuery(metadata=mark, state=[SandboxState.RUNNING])))
        equal(len(running), 2)
        equal(await all_of(flavor.Sandbox.list(query=SandboxQuery(metadata=mark, state=[SandboxState.PAUSED]))), [])
    finally:
        await settle(first.kill())
        await settle(second.kill())


async def check_get_host(flavor, sandbox):
    equal(sandbox.get_host(3000), f"3000-{sandbox.sandbox_id}.{sandbox.sandbox_domain}")
    assert sandbox.get_mcp_url().startswith("https://50005-"), sandbox.get_mcp_url()


async def check_signed_urls(flavor, sandbox):
    await settle(sandbox.files.write("signed.txt", "signed"))
    with urllib.request.urlopen(sandbox.download_url("signed.txt", use_signature_expiration=60)) as answer:
        equal(answer.read(), b"signed")
    body = b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nby url\r\n--x--\r\n'
    request = urllib.request.Request(
        sandbox.upload_url("by-url.txt"), data=body, headers={"Content-Type": "multipart/form-data; boundary=x"}, method="POST"
    )
    with urllib.request.urlopen(request) as answer:
        equal(answer.status, 200)
    equal(await settle(sandbox.files.read("by-url.txt")), "by url")
    try:
        urllib.request.urlopen(sandbox.download_url("signed.txt", use_signature_expiration=-60))
        raise AssertionError("an expired signature was accepted")
    except urllib.error.HTTPError as error:
        equal(error.code, 401)


async def check_wrong_key(flavor, sandbox):
    await raises("AuthenticationException", lambda: flavor.Sandbox.create(api_key="e2b_0000"))
