"""The Bash kernel: an interactive shell, because only such a one gives up a command line, and nothing else, when it is interrupted."""

import os
import re
import subprocess

from process_kernel import ProcessKernel, launch, write_whole

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Values and code come through a descriptor of their own, each up to a NUL: the shell reads them into variables, and never as commands.
PRELUDE = r"""
unset HISTFILE; set +H; __abx_kept=()
__abx_set() { IFS= read -r -d '' -u $__abx_in "$1"; export "$1"; }
__abx_keep() { __abx_kept+=("$(declare -p "$1" 2>/dev/null || printf 'unset -v %s' "$1")"); __abx_set "$1"; }
__abx_back() { local line; for line in "${__abx_kept[@]}"; do eval "${line/#declare /declare -g }"; done; __abx_kept=(); }
__abx_tell() { printf '{"type":"%s","cell":%d,"status":%d}\n' "$1" "$2" "$3" >&$__abx_out; }
exit() { builtin exit "$@" 2>/dev/null; }
__abx_tell ready 0 0
"""
# A signal while values are read would leave the rest of them to the next read.
BEFORE = "trap '' INT\n"
CELL = """IFS= read -r -d '' -u $__abx_in __abx_code; trap - INT; eval "$__abx_code" </dev/null {report}>&- {data}<&-
__abx_tell done {cell} $?; __abx_back
"""


class BashKernel(ProcessKernel):
    language_info = {"name": "bash", "mimetype": "text/x-sh", "file_extension": ".sh"}

    def open_program(self, report_fd):
        data_fd, self._data = os.pipe()
        self._fds = {"report": report_fd, "data": data_fd}
        try:
            process = subprocess.Popen(
                ["bash", "--norc", "--noprofile", "--noediting", "-i"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[report_fd, data_fd],
                env={**os.environ, "PS1": "", "PS2": ""},
            )
        finally:
            os.close(data_fd)
        self._stdin = process.stdin
        self._command(f"__abx_out={report_fd} __abx_in={data_fd}\n{PRELUDE}")
        return process

    def close_program(self):
        os.close(self._data)
        try:
            self._stdin.close()
        except BrokenPipeError:
            pass

    def send_code(self, cell, code, envs, sandbox):
        gone = [name for name in sandbox.get("unset", []) if NAME.fullmatch(name)]
        changed = {name: value for name, value in sandbox.get("set", {}).items() if NAME.fullmatch(name)}
        own = {name: value for name, value in envs.items() if NAME.fullmatch(name)}
        lines = [f"unset -v {name}\n" for name in gone]
        lines += [f"__abx_set {name}\n" for name in changed] + [f"__abx_keep {name}\n" for name in own]
        self._command(BEFORE + "".join(lines) + CELL.format(cell=cell, **self._fds))
        # A NUL ends a value; Bash could not hold one either.
        for value in (*changed.values(), *own.values(), code):
            write_whole(self._data, value.replace("\0", "").encode("utf-8", "surrogateescape") + b"\0")

    def interrupt_program(self, cell):
        # The line that tells the end may have been lost with the one that was interrupted; a second one does no harm.
        self._command(f"__abx_tell done {cell} 130\n")

    def failure_of(self, report):
        status = report["status"]
        if status == 0:
            return None
        return {"ename": "ExitStatus", "evalue": str(status), "traceback": [f"ExitStatus: the last command ended with status {status}"]}

    def _command(self, text):
        self._stdin.write(text.encode())
        self._stdin.flush()


if __name__ == "__main__":
    launch(BashKernel)
