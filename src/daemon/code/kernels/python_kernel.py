"""The Python kernel: IPython with output that waits, results that programs read, and variables that come with an execution."""

import os
import site
import sys

# What IPython would load for editors, which nobody attaches here; code that imports it gets it all the same.
FOR_EDITORS = ("debugpy", "jedi")
sys.modules.update(dict.fromkeys(FOR_EDITORS))
# The directory of this file is where Python looks first; user code must not find our modules there, so it goes once they are loaded.
import bounded_output
import environment
import program_output
import python_display
from ipykernel.ipkernel import IPythonKernel
from ipykernel.iostream import OutStream

for name in FOR_EDITORS:
    del sys.modules[name]


class SandboxKernel(IPythonKernel):
    async def execute_request(self, stream, ident, parent):
        with environment.applied(parent.get("metadata") or {}):
            await super().execute_request(stream, ident, parent)

    async def do_execute(self, *args, **options):
        reply = await super().do_execute(*args, **options)
        program_output.take_written()
        return reply


class SandboxKernelApp(bounded_output.BoundedKernelApp):
    kernel_class = SandboxKernel

    def initialize(self, argv=None):
        program_output.install(OutStream)
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


def open_user_site():
    """Python looks where `pip install` puts packages only if the directory is there when it starts."""
    path = site.getusersitepackages()
    if not site.ENABLE_USER_SITE or path in sys.path:
        return
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        return
    after = [index for index, entry in enumerate(sys.path) if entry.endswith(("site-packages", "dist-packages"))]
    sys.path.insert(min(after, default=len(sys.path)), path)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = ["", *(path for path in sys.path if path not in ("", here))]
    open_user_site()
    SandboxKernelApp.launch_instance(config=settings())


if __name__ == "__main__":
    main()
