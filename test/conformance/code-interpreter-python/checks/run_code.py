from support import equal, raises, settle


async def check_value_output_and_count(flavor, sandbox):
    run = await settle(sandbox.run_code("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7"))
    equal((run.text, run.logs.stdout, run.logs.stderr, run.error), ("42", ["out\n"], ["err\n"], None))
    equal((await settle(sandbox.run_code("1"))).execution_count, run.execution_count + 1)


async def check_state(flavor, sandbox):
    await settle(sandbox.run_code("kept = 1"))
    equal((await settle(sandbox.run_code("kept + 1"))).text, "2")


async def check_exception(flavor, sandbox):
    error = (await settle(sandbox.run_code("undefined_name"))).error
    equal((error.name, error.value), ("NameError", "name 'undefined_name' is not defined"))
    assert "line 1" in error.traceback, error.traceback


async def check_callbacks(flavor, sandbox):
    seen = []
    await settle(
        sandbox.run_code(
            "import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(1)\n1/0",
            on_stdout=lambda message: seen.append(("out", message.line, message.error, bool(message.timestamp))),
            on_stderr=lambda message: seen.append(("err", message.line, message.error)),
            on_result=lambda result: seen.append(("result", result.text, result.is_main_result)),
            on_error=lambda error: seen.append(error.name),
        )
    )
    equal(seen, [("out", "a\n", False, True), ("err", "b\n", True), ("result", "1", False), "ZeroDivisionError"])


async def check_variables_of_a_call(flavor, sandbox):
    code = "import os; os.environ.get('MINE')"
    equal((await settle(sandbox.run_code(code, envs={"MINE": "a'b\"\\ $x"}))).logs.stdout, [])
    equal((await settle(sandbox.run_code(f"{code} == 'it\\'s'", envs={"MINE": "it's"}))).text, "True")
    equal((await settle(sandbox.run_code(code))).text, None)


async def check_languages(flavor, sandbox):
    equal((await settle(sandbox.run_code("const n = await Promise.resolve(2); n", language="js"))).text, "2")
    equal((await settle(sandbox.run_code("const n: number = 3; n", language="typescript"))).text, "3")
    equal((await settle(sandbox.run_code("x=4; echo $x", language="bash"))).logs.stdout, ["4\n"])
    await raises("SandboxException", lambda: sandbox.run_code("1", language="cobol"))


async def check_timeout_interrupts(flavor, sandbox):
    await settle(sandbox.run_code("before = 1"))
    await raises("TimeoutException", lambda: sandbox.run_code("import time; time.sleep(60)", timeout=1))
    equal((await settle(sandbox.run_code("before"))).text, "1")


async def check_language_and_context_exclude_each_other(flavor, sandbox):
    context = (await settle(sandbox.list_code_contexts()))[0]
    await raises("InvalidArgumentException", lambda: sandbox.run_code("1", language="python", context=context))


async def check_json_of_an_execution(flavor, sandbox):
    text = (await settle(sandbox.run_code("print(1)\n2"))).to_json()
    assert '"results"' in text and '"logs"' in text, text
