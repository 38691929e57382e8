"""The Python kernel: IPython with output that waits, results that programs read, and variables that come with an execution."""

import os
import sys

# IPython would load the debugger at every start; nobody can attach one here.
sys.modules["debugpy"] = None
# The directory of this file is where Python looks first; user code must not find our modules there, so it goes once they are loaded.
import bounded_output
import environment
import python_display
from ipykernel.ipkernel import IPythonKernel
from ipykernel.iostream import OutStream

del sys.modules["debugpy"]


class SandboxKernel(IPythonKernel):
    async def execute_request(self, stream, ident, parent):
        with environment.applied(parent.get("metadata") or {}):
            await super().execute_request(stream, ident, parent)


class SandboxKernelApp(bounded_output.BoundedKernelApp):
    kernel_class = SandboxKernel

    def initialize(self, argv=None):
        super().initialize(argv)
        bounded_output.bound_streams(OutStream, lambda stream: stream.pub_thread)
        python_display.install(self.shell)


def settings():
    from traitlets.config import Config

    config = Config()
    config.InteractiveShell.colors = "NoColor"
    config.HistoryManager.enabled = False
    # A sequence is shown whole: programs read it.
    config.PlainTextFormatter.max_seq_length = 0
    return config


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = ["", *(path for path in sys.path if path not in ("", here))]
    SandboxKernelApp.launch_instance(config=settings())


if __name__ == "__main__":
    main()
