"""A kernel around a program that runs the code: it starts the program, passes code to it and its output on."""

import codecs
import json
import os
import selectors
import signal
import subprocess
import sys

import bounded_output
import environment
from ipykernel.kernelbase import Kernel
from program_output import waiting_bytes

READ_BYTES = 64 * 1024
# What the program may take to stop after a signal, until it is ended.
STOP_TIMEOUT_S = 8


class ProcessKernel(Kernel):
    implementation = "agent-sandbox"
    implementation_version = "1"
    banner = ""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._program = None
        self._metadata = {}
        self._cell = 0
        self._exit_status = None

    # What a language says about itself.

    def open_program(self, report_fd):
        """
        Start the program and return its Popen. It writes lines of JSON to `report_fd`: `ready` first, and `done` with the number of the
        cell after each.
        """
        raise NotImplementedError

    def close_program(self):
        """Close what `open_program` opened beside standard output and error."""

    def send_code(self, cell, code, envs, sandbox):
        raise NotImplementedError

    def interrupt_program(self, cell):
        """Called after SIGINT, which the program got too."""

    def failure_of(self, report):
        """The error that a `done` means, beside one that was reported before it."""
        return None

    # Everything else.

    def start(self):
        super().start()
        self._open()

    async def execute_request(self, stream, ident, parent):
        self._metadata = parent.get("metadata") or {}
        await super().execute_request(stream, ident, parent)

    def do_execute(self, code, silent, store_history=True, user_expressions=None, allow_stdin=False, **_):
        sandbox = self._metadata.get("sandbox") or {}
        environment.update(sandbox)
        self._cell += 1
        try:
            if self._program is None:
                self._open()
            self.send_code(self._cell, code, self._metadata.get("envs") or {}, sandbox)
            failure = self._follow()
        except BrokenPipeError:
            failure = self._ended()
        except KeyboardInterrupt:
            failure = self._interrupted()
        if failure is None:
            return {"status": "ok", "execution_count": self.execution_count, "payload": [], "user_expressions": {}}
        self._send("error", failure)
        return {"status": "error", "execution_count": self.execution_count, **failure}

    def do_shutdown(self, restart):
        self._end()
        return {"status": "ok", "restart": restart}

    def _open(self):
        report, report_end = os.pipe()
        # A signal that is ignored here would be ignored by the program and all that it starts; one that is handled is not.
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            process = self.open_program(report_end)
        finally:
            signal.signal(signal.SIGINT, handler)
            os.close(report_end)
        self._exit_status = None
        self._program = Program(process, report)
        # What it says before it is ready is no output of any code.
        for kind, value in self._program.events():
            if kind == "end" or (kind == "report" and value["type"] == "ready"):
                return

    def _end(self):
        program, self._program = self._program, None
        if program is not None:
            self.close_program()
            program.close()

    def _follow(self):
        """Pass on what the program says until the code is done. Returns the error that it ended with."""
        failure = None
        for kind, value in self._program.events():
            if kind in ("stdout", "stderr"):
                self._send("stream", {"name": kind, "text": value})
                bounded_output.until_sent(self.iopub_socket.io_thread)
            elif kind == "end":
                return self._ended()
            elif value.get("cell") != self._cell:
                continue  # An earlier cell that was given up went on.
            elif value["type"] == "exit":
                self._exit_status = value["status"]
            elif value["type"] == "done":
                return failure or self.failure_of(value)
            elif value["type"] == "error":
                failure = {"ename": value["name"], "evalue": value["value"], "traceback": [value["traceback"]]}
            elif value["type"] == "result":
                self._send("execute_result", {"data": value["data"], "metadata": {}, "execution_count": self.execution_count})
            elif value["type"] == "display":
                self._send("display_data", {"data": value["data"], "metadata": {}})
        return self._ended()

    def _interrupted(self):
        """The program got the signal too. One that does not stop in time is ended, and what it held is lost."""
        # Interrupts are repeated until they show; here one is enough, and the next is no reason to end the program sooner.
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, _raise_timeout)
        signal.setitimer(signal.ITIMER_REAL, STOP_TIMEOUT_S)
        try:
            self.interrupt_program(self._cell)
            self._follow()
            text = "the execution was interrupted"
        except (TimeoutError, BrokenPipeError):
            self._end()
            text = "the execution did not stop when it was interrupted, so its program was ended; its variables are lost"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, handler)
        return {"ename": "KeyboardInterrupt", "evalue": text, "traceback": [f"KeyboardInterrupt: {text}"]}

    def _ended(self):
        status = self._exit_status
        if status is None and self._program is not None:
            status = self._program.status()
        self._end()
        how = "ended" if status is None else f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        text = f"the program that runs the code {how}; its variables are lost, and the next execution starts a new one"
        return {"ename": "UnexpectedEndOfExecution", "evalue": text, "traceback": [f"UnexpectedEndOfExecution: {text}"]}

    def _send(self, kind, content):
        self.send_response(self.iopub_socket, kind, content)


class Program:
    """A running program with its output and its reports."""

    def __init__(self, process, report):
        self._process = process
        self._buffer = b""
        self._selector = selectors.DefaultSelector()
        self._streams = {"report": report, "stdout": process.stdout.fileno(), "stderr": process.stderr.fileno()}
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        for name, fd in self._streams.items():
            os.set_blocking(fd, False)
            self._selector.register(fd, selectors.EVENT_READ, name)

    def events(self):
        """Yields ("stdout" | "stderr", text), ("report", object) and at last ("end", None)."""
        while True:
            ready = {key.data for key, _ in self._selector.select()}
            # What was written before a report is passed on before it.
            reports = self._read("report") if "report" in ready else b""
            for name in ("stdout", "stderr"):
                if name in ready or reports != b"":
                    yield from self._texts(name, drains=reports != b"")
            if reports is None:
                yield "end", None
                return
            self._buffer += reports
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in lines:
                yield "report", json.loads(line)

    def _texts(self, name, drains):
        fd = self._streams[name]
        left = waiting_bytes(fd) if drains and fd is not None else READ_BYTES
        while left > 0:
            data = self._read(name, left)
            if not data:
                return
            left = left - len(data) if drains else 0
            text = self._decoders[name].decode(data)
            if text:
                yield name, text

    def _read(self, name, most=READ_BYTES):
        """Bytes; none when nothing is there now, `None` at the end."""
        fd = self._streams[name]
        if fd is None:
            return None
        try:
            data = os.read(fd, min(most, READ_BYTES))
        except BlockingIOError:
            return b""
        if data:
            return data
        self._selector.unregister(fd)
        if name == "report":
            os.close(fd)
        self._streams[name] = None
        return None

    def status(self):
        try:
            return self._process.wait(1)
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        self._process.kill()
        self._process.wait()
        self._selector.close()
        self._process.stdout.close()
        self._process.stderr.close()
        if self._streams["report"] is not None:
            os.close(self._streams["report"])


def write_whole(fd, data):
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _raise_timeout(_signal, _frame):
    raise TimeoutError


def launch(kernel_class):
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if path != here]
    # The connection file is all that Jupyter says; what follows it is ours.
    bounded_output.BoundedKernelApp.launch_instance(kernel_class=kernel_class, argv=sys.argv[1:3])
