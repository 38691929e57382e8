"""Runs named checks against clients of PyPI, through their synchronous and their asynchronous class.

One table of checks serves both: what a call returns is awaited when it can be. Each failure is printed with its reason, then the score.
"""

import asyncio
import inspect
import os
import re
import sys
import traceback

CHECK_TIMEOUT_S = 60


class Flavor:
    """One of the two classes of the package."""

    def __init__(self, name, sandbox_class, template_class=None, volume_class=None):
        self.name = name
        self.Sandbox = sandbox_class
        self.Template = template_class
        self.Volume = volume_class
        self.is_async = name == "async"


async def run_group(flavor, group, only):
    title = group.__name__.split(".")[-1]
    checks = [(name, check) for name, check in vars(group).items() if name.startswith("check_")]
    checks = [(name, check) for name, check in checks if only in f"{flavor.name} {title}: {name}"]
    if not checks:
        return 0, 0
    passed = 0
    sandbox = None
    try:
        sandbox = await settle(flavor.Sandbox.create(timeout=600, metadata={"conformance": f"{flavor.name}-{title}"}))
        for name, check in checks:
            try:
                await asyncio.wait_for(check(flavor, sandbox), CHECK_TIMEOUT_S)
                passed += 1
            except Exception as error:
                print(f"FAIL {flavor.name} {title}: {name[6:].replace('_', ' ')}: {describe(error)}", flush=True)
    except Exception as error:
        print(f"FAIL {flavor.name} {title}: the preparation of {len(checks)} checks failed: {describe(error)}", flush=True)
    finally:
        if sandbox is not None:
            await settle(sandbox.kill())
    return passed, len(checks)


async def settle(value):
    return await value if inspect.isawaitable(value) else value


def describe(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if f"{os.sep}checks{os.sep}" in frame.filename]
    at = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}") + at


async def run_suite(suite, flavors, groups):
    only = os.environ.get("CONFORMANCE_ONLY", "")
    passed = total = 0
    for flavor in flavors:
        for group in groups:
            good, all_of_them = await run_group(flavor, group, only)
            passed += good
            total += all_of_them
    print(f"conformance {suite}: {passed} of {total}", flush=True)
    return 0 if passed == total else 1


def run(suite, flavors, groups):
    code = asyncio.run(run_suite(suite, flavors, groups))
    sys.stdout.flush()
    # Streams that a check abandoned may still hold threads of the client.
    os._exit(code)
