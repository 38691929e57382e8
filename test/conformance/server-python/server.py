"""The Python container-side runtime, unmodified, with a few commands. Prints a line when it is about to listen."""

import sys

from easy_sandbox.server import CapabilityGroup, CommandRegistry, SandboxServer, default_table

registry = CommandRegistry()


@registry.command("hello", description="Say hello.")
def hello(name: str, times: int = 1) -> str:
    return f"Hello, {name}!" * times


@registry.command(hidden=True)
def secret() -> int:
    return 42


@registry.command("fails")
def fails() -> None:
    raise RuntimeError("no")


table = default_table()
table.enable_group(CapabilityGroup.DEV_TOOLS)
print("starting", flush=True)
SandboxServer(host="127.0.0.1", registry=registry, route_table=table).serve(port=int(sys.argv[1]))
