"""Runs named checks against clients of PyPI, through their synchronous and their asynchronous class.

One table of checks serves both: what a call returns is awaited when it can be. Each failure is printed with its reason, then the score. The results
say which methods of the client each check called.
"""

import asyncio
import importlib.metadata
import inspect
import os
import re
import sys
import traceback

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "results"))
from watch_calls import CallWatcher, public_methods, write_results  # noqa: E402

CHECK_TIMEOUT_S = 60


class Flavor:
    """One of the two classes of the package."""

    def __init__(self, name, sandbox_class, template_class=None, volume_class=None):
        self.name = name
        self.Sandbox = sandbox_class
        self.Template = template_class
        self.Volume = volume_class
        self.is_async = name == "async"


async def run_group(flavor, group, only, watcher, results):
    title = group.__name__.split(".")[-1]
    checks = [(name, check) for name, check in vars(group).items() if name.startswith("check_")]
    checks = [(name, check) for name, check in checks if only in f"{flavor.name} {title}: {name}"]
    if not checks:
        return 0, 0

    def record(name, reason=None):
        results.append({"name": f"{flavor.name} {title}: {name}", "operations": watcher.take(), "reason": reason})

    passed = 0
    sandbox = None
    watcher.take()
    try:
        sandbox = await settle(flavor.Sandbox.create(timeout=600, metadata={"conformance": f"{flavor.name}-{title}"}))
        record("the preparation")
        for name, check in checks:
            reason = None
            try:
                await asyncio.wait_for(check(flavor, sandbox), CHECK_TIMEOUT_S)
                passed += 1
            except Exception as error:
                reason = describe(error)
                print(f"FAIL {flavor.name} {title}: {name[6:].replace('_', ' ')}: {reason}", flush=True)
            record(name[6:].replace("_", " "), reason)
    except Exception as error:
        record("the preparation", describe(error))
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


async def run_suite(suite, package, flavors, groups):
    only = os.environ.get("CONFORMANCE_ONLY", "")
    distribution = package.replace("_", "-")
    passed = total = 0
    clients = []
    for flavor in flavors:
        methods = public_methods(package, flavor.is_async)
        watcher = CallWatcher(package, methods)
        client = {
            "name": f"{distribution} (PyPI), {flavor.name}",
            "version": importlib.metadata.version(distribution),
            "methods": methods,
            "checks": [],
        }
        clients.append(client)
        watcher.start()
        for group in groups:
            good, all_of_them = await run_group(flavor, group, only, watcher, client["checks"])
            passed += good
            total += all_of_them
        watcher.stop()
    write_results(suite, clients)
    print(f"conformance {suite}: {passed} of {total}", flush=True)
    return 0 if passed == total else 1


def run(suite, package, flavors, groups):
    """`package` is the one whose public methods are the operations of the results."""
    code = asyncio.run(run_suite(suite, package, flavors, groups))
    sys.stdout.flush()
    # Streams that a check abandoned may still hold threads of the client.
    os._exit(code)
