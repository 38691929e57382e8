"""Runs Jupyter kernels for the daemon, which speaks lines of JSON with it.

The daemon writes commands, one object per line:

    {"op": "start", "kernel": 1, "name": "python", "cwd": "/home/user", "envs": {}}
    {"op": "run", "kernel": 1, "run": 7, "code": "1 + 1", "envs": {}, "sandbox": {"set": {}, "unset": []}}
    {"op": "interrupt", "kernel": 1}      SIGINT to the kernel's process group
    {"op": "hold", "kernel": 1}           stop reading its output; {"op": "go", ...} reads on
    {"op": "stop", "kernel": 1}

The answers are lines too. `o 7 <line>` is a line of the answer to run 7, as openapi/code-interpreter.yaml describes it. `e <object>` tells
what happened: `started`, `failed`, `done`, `died`.
"""

import asyncio
import json
import math
import sys

try:
    from bridge_kernel import BridgeKernel, StartFailure
except ImportError as error:
    # The daemon knows this status: the template has no kernels.
    print(error, file=sys.stderr)
    sys.exit(3)

MAX_COMMAND_BYTES = 256 * 1024 * 1024


def to_json(line):
    try:
        return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(numbers_only(line), ensure_ascii=False, separators=(",", ":"))


def numbers_only(value):
    """JSON has no infinity and nothing that is not a number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: numbers_only(item) for key, item in value.items()}
    return [numbers_only(item) for item in value] if isinstance(value, list) else value


class Bridge:
    def __init__(self, output):
        self._output = output
        self._kernels = {}
        self._tasks = set()

    async def tell(self, **event):
        await self._write(f"e {json.dumps(event)}\n")

    async def write_line(self, run, line):
        await self._write(f"o {run} {to_json(line)}\n")

    async def _write(self, text):
        # Half a surrogate pair is a character in Python and none in UTF-8.
        self._output.write(text.encode("utf-8", "replace"))
        await self._output.drain()

    async def serve(self, commands):
        async for line in commands:
            command = json.loads(line)
            op, number = command["op"], command["kernel"]
            kernel = self._kernels.get(number)
            if op == "start":
                self._spawn(self._start(number, command))
            elif kernel is not None and op == "stop":
                del self._kernels[number]
                self._spawn(kernel.stop())
            elif kernel is not None:
                kernel.handle(op, command)
        await asyncio.gather(*(kernel.stop() for kernel in self._kernels.values()))

    async def _start(self, number, command):
        kernel = BridgeKernel(number, self)
        self._kernels[number] = kernel
        try:
            pid = await kernel.start(command["name"], command["cwd"], command["envs"])
        except StartFailure as failure:
            self._kernels.pop(number, None)
            await self.tell(event="failed", kernel=number, message=str(failure), isUnknown=failure.is_unknown)
            return
        await self.tell(event="started", kernel=number, pid=pid)

    def _spawn(self, work):
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def main():
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader(limit=MAX_COMMAND_BYTES)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    output = asyncio.StreamWriter(transport, protocol, None, loop)
    await Bridge(output).serve(commands)


if __name__ == "__main__":
    asyncio.run(main())
