from support import equal, raises, settle


async def check_default_contexts(flavor, sandbox):
    languages = [context.language for context in await settle(sandbox.list_code_contexts())]
    equal(languages[:2], ["python", "javascript"])


async def check_create_use_restart_and_remove(flavor, sandbox):
    context = await settle(sandbox.create_code_context(cwd="/tmp", language="python"))
    equal((context.language, context.cwd), ("python", "/tmp"))
    equal((await settle(sandbox.run_code("import os; own = 1; os.getcwd()", context=context))).text, "/tmp")
    equal((await settle(sandbox.run_code("own"))).error.name, "NameError")
    equal((await settle(sandbox.list_code_contexts()))[-1].id, context.id)
    await settle(sandbox.restart_code_context(context))
    equal((await settle(sandbox.run_code("own", context=context))).error.name, "NameError")
    await settle(sandbox.remove_code_context(context.id))
    await raises("NotFoundException", lambda: sandbox.run_code("1", context=context))
    await raises("NotFoundException", lambda: sandbox.restart_code_context(context))


async def check_a_template_without_kernels(flavor, sandbox):
    other = await settle(flavor.Sandbox.create("base", timeout=60))
    try:
        await raises("TimeoutException", lambda: other.run_code("1"), "port is not open")
    finally:
        await settle(other.kill())
