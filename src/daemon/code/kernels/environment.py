"""Environment variables of an execution: values come beside the code and are never a part of it."""

import contextlib
import os


def update(sandbox):
    """Take over what the variables of the whole sandbox became since the last execution."""
    for name in sandbox.get("unset", []):
        os.environ.pop(name, None)
    os.environ.update(sandbox.get("set", {}))


@contextlib.contextmanager
def applied(metadata):
    """Have the variables of one execution; afterwards each is what it was before."""
    update(metadata.get("sandbox") or {})
    envs = metadata.get("envs") or {}
    before = {name: os.environ.get(name) for name in envs}
    os.environ.update(envs)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
