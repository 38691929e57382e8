"""What several checks need."""

import asyncio
import inspect
import re
import time


async def settle(value):
    """The result of a call of either class."""
    return await value if inspect.isawaitable(value) else value


async def raises(error_class, call, message=""):
    """Assert that `call()` raises that class or one derived from it, with a message that matches."""
    try:
        value = await settle(call())
    except Exception as error:
        assert error_class in [base.__name__ for base in type(error).__mro__], f"{type(error).__name__} instead of {error_class}: {error}"
        assert re.search(message, str(error)), f"message {error}"
        return error
    raise AssertionError(f"expected {error_class}, got {value!r}")


async def until(probe, what, timeout=15):
    """Wait until `probe()` gives something truthy."""
    deadline = time.monotonic() + timeout
    while True:
        value = await settle(probe())
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {timeout} s")
        await asyncio.sleep(0.02)


async def all_of(paginator):
    found = []
    while paginator.has_next:
        found.extend(await settle(paginator.next_items()))
    return found


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


async def feed(flavor, namespace, pid, parts):
    """Send `parts` over one input stream: an iterable when synchronous, a handle when asynchronous."""
    if not flavor.is_async:
        namespace.stream_input(pid, parts)
        return
    handle = namespace.stream_input(pid)
    for part in parts:
        await handle.send(part)
    await handle.close()
