"""The unmodified e2b-code-interpreter package of PyPI against our platform."""

import os
import sys

# What all suites of PyPI packages share lies with the first of them.
SHARED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2b-python")
sys.path += [SHARED, os.path.join(SHARED, "checks")]

import e2b_code_interpreter  # noqa: E402
from checks import contexts, results, run_code  # noqa: E402
from runner import Flavor, run  # noqa: E402

if __name__ == "__main__":
    flavors = [Flavor("sync", e2b_code_interpreter.Sandbox), Flavor("async", e2b_code_interpreter.AsyncSandbox)]
    run("code-interpreter-python", "e2b_code_interpreter", flavors, [run_code, contexts, results])
