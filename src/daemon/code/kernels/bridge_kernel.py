"""One running kernel, as the bridge drives it."""

import asyncio
import os
import signal
import subprocess

import zmq
import zmq.asyncio
from contract_lines import iso_time, to_line
from jupyter_client import AsyncKernelManager
from kernel_specs import NoSuchKernel, Specs, installed_names, is_own, spec_name

# A kernel that was not asked to work is ready within a second; a loaded machine may need many.
READY_TIMEOUT_S = 60
ASK_AGAIN_S = 0.05
# Messages that ZeroMQ keeps for a reader that is slow; then the kernel waits, or drops them when it is none of ours.
QUEUED_MESSAGES = 16
DEATH_POLL_S = 0.05
# Ports are chosen before the kernel binds them, and anything that connects meanwhile may get one of them.
START_ATTEMPTS = 3


class StartFailure(Exception):
    def __init__(self, message, is_unknown=False):
        super().__init__(message)
        self.is_unknown = is_unknown


class EarlyEnd(StartFailure):
    """It ended before it answered."""


class Run:
    """An execution under way: it is over when the kernel is idle again and has replied."""

    def __init__(self, number, message_id):
        self.number = number
        self.message_id = message_id
        self.is_idle = False
        self.reply = None
        self.has_error = False


class BridgeKernel:
    def __init__(self, number, bridge):
        self._number = number
        self._bridge = bridge
        self._specs = Specs()
        self._name = ""
        self._manager = None
        self._client = None
        self._run = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._tasks = []
        self._is_stopped = False

    async def start(self, name, cwd, envs):
        """Resolves to the pid once the kernel answers."""
        self._name = name
        for attempt in range(1, START_ATTEMPTS + 1):
            try:
                await self._try_start(cwd, envs)
                break
            except (asyncio.TimeoutError, StartFailure) as error:
                if isinstance(error, EarlyEnd) and attempt < START_ATTEMPTS and not self._is_stopped:
                    await self._release()
                    continue
                await self.stop()
                if self._client is None:
                    raise
                what = str(error) or f"it did not answer within {READY_TIMEOUT_S} s"
                raise StartFailure(f"the kernel '{name}' did not start: {what}") from None
        self._tasks = [asyncio.ensure_future(work) for work in (self._read_output(), self._read_replies(), self._watch())]
        return self._manager.provisioner.pid

    async def _try_start(self, cwd, envs):
        name = self._name
        self._client = None
        self._manager = AsyncKernelManager(kernel_name=spec_name(name), kernel_spec_manager=self._specs)
        self._manager.context.setsockopt(zmq.RCVHWM, QUEUED_MESSAGES)
        try:
            await self._manager.start_kernel(cwd=cwd, env=envs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except NoSuchKernel:
            names = ", ".join(installed_names(self._specs))
            raise StartFailure(f"no kernel is installed for the language '{name}'; there are: {names}", True) from None
        except OSError as error:
            raise StartFailure(f"the kernel '{name}' cannot be started: {error}") from None
        self._client = self._manager.client()
        self._client.start_channels(stdin=False, hb=False)
        await asyncio.wait_for(self._until_ready(), READY_TIMEOUT_S)

    async def _until_ready(self):
        """Ready is who replied, and whose messages for all arrive: a subscription takes effect some time after the connection."""
        asked = set()
        while True:
            asked.add(self._client.kernel_info())
            try:
                await self._message_of(self._client.get_shell_msg, asked, READY_TIMEOUT_S)
                await self._message_of(self._client.get_iopub_msg, asked, ASK_AGAIN_S)
                break
            except asyncio.TimeoutError:
                continue
        # What belongs to these questions is dropped by everyone who looks for the messages of a run.

    async def _message_of(self, receive, asked, timeout):
        async def find():
            while True:
                receiving = asyncio.ensure_future(receive(timeout=None))
                while not receiving.done():
                    await asyncio.wait([receiving], timeout=DEATH_POLL_S)
                    if not receiving.done() and self._exit_status() is not None:
                        receiving.cancel()
                        raise EarlyEnd(describe_exit(self._exit_status()))
                if receiving.result()["parent_header"].get("msg_id") in asked:
                    return

        await asyncio.wait_for(find(), timeout)

    def handle(self, op, command):
        if self._client is None:
            return
        if op == "run":
            self._start_run(command)
        elif op == "hold":
            self._flows.clear()
        elif op == "go":
            self._flows.set()
        elif op == "interrupt":
            if self._manager.kernel_spec.interrupt_mode == "message":
                asyncio.ensure_future(self._manager.interrupt_kernel())
            else:
                self._signal(signal.SIGINT)

    def _start_run(self, command):
        content = {
            "code": command["code"],
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        message = self._client.session.msg("execute_request", content)
        if is_own(self._name):
            # Values travel as data beside the code, and never as code.
            message["metadata"] = {"envs": command["envs"], "sandbox": command["sandbox"]}
        self._run = Run(command["run"], message["header"]["msg_id"])
        self._client.shell_channel.send(message)

    async def _read_output(self):
        while True:
            message = await self._client.get_iopub_msg(timeout=None)
            run = self._run
            if run is None or message["parent_header"].get("msg_id") != run.message_id:
                continue
            if message["msg_type"] == "status":
                if message["content"]["execution_state"] == "idle":
                    run.is_idle = True
                    await self._finish(run)
                continue
            line = to_line(message)
            if line is not None:
                run.has_error = run.has_error or line["type"] == "error"
                await self._bridge.write_line(run.number, line)
                await self._flows.wait()

    async def _read_replies(self):
        while True:
            message = await self._client.get_shell_msg(timeout=None)
            run = self._run
            if run is not None and message["parent_header"].get("msg_id") == run.message_id:
                run.reply = message["content"]
                await self._finish(run)

    async def _finish(self, run):
        if self._run is not run or not run.is_idle or run.reply is None:
            return
        self._run = None
        status = run.reply.get("status")
        if status in ("aborted", "abort") and not run.has_error:
            value = "the kernel dropped the execution, because an earlier one failed or was interrupted"
            await self._bridge.write_line(run.number, {"type": "error", "name": "ExecutionAborted", "value": value, "traceback": ""})
        asks_exit = any(part.get("source") == "ask_exit" for part in run.reply.get("payload") or [])
        await self._bridge.tell(event="done", run=run.number, kernel=self._number, asksExit=asks_exit)

    async def _watch(self):
        await until_exit(self._manager.provisioner.process.pid, lambda: self._exit_status() is not None)
        status = self._exit_status()
        await self._bridge.tell(event="died", kernel=self._number, status=describe_exit(status), at=iso_time())
        await self.stop()

    def _exit_status(self):
        process = getattr(self._manager.provisioner, "process", None)
        return None if process is None else process.poll()

    def _signal(self, number):
        process = getattr(self._manager.provisioner, "process", None)
        if process is None:
            return
        try:
            os.killpg(process.pid, number)
        except OSError:
            pass  # It ended already.

    async def stop(self):
        if self._is_stopped:
            return
        self._is_stopped = True
        self._flows.set()
        self._signal(signal.SIGKILL)
        current = asyncio.current_task()
        for task in self._tasks:
            if task is not current:
                task.cancel()
        await self._release()

    async def _release(self):
        if self._client is not None:
            self._client.stop_channels()
        try:
            await self._manager.shutdown_kernel(now=True)
        except Exception:
            pass  # The process group is dead; what is left is a file with its ports.


async def until_exit(pid, has_ended):
    """Resolves when a child ended; without descriptors of processes in this kernel, it is asked again and again."""
    loop = asyncio.get_running_loop()
    try:
        fd = os.pidfd_open(pid)
    except (AttributeError, OSError):
        fd = None
    try:
        if fd is not None:
            ended = loop.create_future()
            loop.add_reader(fd, lambda: ended.done() or ended.set_result(None))
            await ended
        while not has_ended():
            await asyncio.sleep(DEATH_POLL_S)
    finally:
        if fd is not None:
            loop.remove_reader(fd)
            os.close(fd)


def describe_exit(status):
    if status is None:
        return "it ended"
    if status >= 0:
        return f"it ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"it was killed by {name}"
