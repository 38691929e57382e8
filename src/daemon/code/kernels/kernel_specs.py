"""Which program runs a language: our own kernels, and whatever kernelspec is installed."""

import os
import shutil
import sys

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(os.path.dirname(HERE), "node")


def _own_kernels():
    found = {"python": ["python_kernel.py"]}
    if shutil.which("bash"):
        found["bash"] = ["bash_kernel.py"]
    if os.access(NODE, os.X_OK):
        found["javascript"] = ["node_kernel.py", "javascript"]
        found["typescript"] = ["node_kernel.py", "typescript"]
    return found


# Jupyter takes the name "python" for another one, so ours have names of their own inside.
PREFIX = "agent-sandbox-"


class Specs(KernelSpecManager):
    """Kernelspecs with those that this directory brings; ours win, because the contract describes them."""

    def get_kernel_spec(self, kernel_name):
        if not kernel_name.startswith(PREFIX):
            return self._installed(kernel_name)
        language = kernel_name[len(PREFIX) :]
        script, *arguments = _own_kernels()[language]
        # The file comes before our own arguments, because IPython reads what follows it.
        argv = [sys.executable, os.path.join(HERE, script), "-f", "{connection_file}", *arguments]
        return KernelSpec(argv=argv, display_name=language, language=language)

    def _installed(self, name):
        """By its name, else by its language: that of R is called `ir`."""
        try:
            return super().get_kernel_spec(name)
        except NoSuchKernel:
            for candidate in sorted(self.find_kernel_specs()):
                spec = super().get_kernel_spec(candidate)
                if spec.language.lower() == name:
                    return spec
            raise


def is_own(name):
    """True for a kernel that takes variables with each execution."""
    return name in _own_kernels()


def spec_name(name):
    return PREFIX + name if is_own(name) else name


def installed_names(specs):
    return sorted({*_own_kernels(), *specs.find_kernel_specs()})


__all__ = ["NoSuchKernel", "Specs", "installed_names", "is_own", "spec_name"]
