"""The kernels for JavaScript and TypeScript: node runs the cells (node-kernel.ts)."""

import json
import os
import subprocess
import sys

from process_kernel import ProcessKernel, launch, write_whole

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(os.path.dirname(HERE), "node")
LANGUAGE = sys.argv[3] if len(sys.argv) > 3 else "javascript"
# An endless loop is ended by an exception that user code cannot catch, and node would take what it leaves of its own books for corruption.
FLAGS = ["--no-force-async-hooks-checks", "--no-warnings"]


class NodeKernel(ProcessKernel):
    language_info = {"name": LANGUAGE, "mimetype": f"text/{LANGUAGE}", "file_extension": ".js" if LANGUAGE == "javascript" else ".ts"}

    def open_program(self, report_fd):
        commands, self._commands = os.pipe()
        interrupts, self._interrupts = os.pipe()
        try:
            return subprocess.Popen(
                [NODE, *FLAGS, os.path.join(HERE, "node-kernel.mjs"), LANGUAGE, str(commands), str(report_fd), str(interrupts)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[commands, report_fd, interrupts],
            )
        finally:
            os.close(commands)
            os.close(interrupts)

    def close_program(self):
        os.close(self._commands)
        os.close(self._interrupts)

    def send_code(self, cell, code, envs, sandbox):
        command = json.dumps({"cell": cell, "code": code, "envs": envs, "sandbox": sandbox})
        write_whole(self._commands, command.encode() + b"\n")

    def interrupt_program(self, cell):
        os.write(self._interrupts, b"!")


if __name__ == "__main__":
    launch(NodeKernel)
