"""The unmodified e2b package of PyPI against our platform."""

import e2b
from checks import commands, errors, files, git, lifecycle, network, pty, states, template, volume, watch
from runner import Flavor, run

if __name__ == "__main__":
    run(
        "e2b-python",
        "e2b",
        [
            Flavor("sync", e2b.Sandbox, e2b.Template, e2b.Volume),
            Flavor("async", e2b.AsyncSandbox, e2b.AsyncTemplate, e2b.AsyncVolume),
        ],
        [lifecycle, states, files, watch, commands, pty, git, errors, network, template, volume],
    )
