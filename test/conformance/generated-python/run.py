"""Drives our platform through what was generated from the contract: REST types, messages and clients.

Each failure is printed with its reason, then the score. The daemon takes no compressed requests, hence `send_compression=None`.
"""

import dataclasses
import json
import os
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "gen" / "python"))
sys.path.append(str(Path(__file__).parent.parent / "results"))

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from filesystem import filesystem_pb2
from filesystem.filesystem_connect import FilesystemClientSync
from lifecycle_rest import NewSandbox, Sandbox
from process import process_pb2
from process.process_connect import ProcessClientSync
from watch_calls import write_results

API_URL = os.environ["E2B_API_URL"]
SANDBOX_URL = os.environ["E2B_SANDBOX_URL"]
API_KEY = os.environ["E2B_API_KEY"]


def rest(method, path, body=None):
    """Make one call to the control plane; absent members of a dataclass are left out."""
    sent = None
    if body is not None:
        sent = json.dumps({name: value for name, value in dataclasses.asdict(body).items() if value is not None}).encode()
    request = urllib.request.Request(API_URL + path, data=sent, method=method)
    request.add_header("X-API-KEY", API_KEY)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as response:
        text = response.read()
        return json.loads(text) if text else None


def address(sandbox):
    """Headers that lead to the daemon of a sandbox."""
    headers = {"E2b-Sandbox-Id": sandbox.sandboxID, "E2b-Sandbox-Port": "49983"}
    if sandbox.envdAccessToken is not None:
        headers["X-Access-Token"] = sandbox.envdAccessToken
    return headers


def create():
    answer = rest("POST", "/sandboxes", NewSandbox(templateID="base", timeout=120))
    known = {field.name for field in dataclasses.fields(Sandbox)}
    return Sandbox(**{name: value for name, value in answer.items() if name in known})


def check_start(sandbox):
    request = process_pb2.StartRequest(
        process=process_pb2.ProcessConfig(
            cmd="/bin/sh", args=["-c", 'echo out; echo err >&2; echo "A=$A"; exit 3'], envs={"A": "1"}
        )
    )
    out, err, pid, end = b"", b"", 0, None
    with ProcessClientSync(SANDBOX_URL, send_compression=None) as processes:
        for message in processes.start(request, headers=address(sandbox)):
            kind = message.event.WhichOneof("event")
            if kind == "start":
                pid = message.event.start.pid
            elif kind == "data":
                out += message.event.data.stdout
                err += message.event.data.stderr
            elif kind == "end":
                end = message.event.end
    assert pid > 0, pid
    assert (out, err) == (b"out\nA=1\n", b"err\n"), (out, err)
    assert end is not None and end.exit_code == 3, end


def check_stat(sandbox):
    with FilesystemClientSync(SANDBOX_URL, send_compression=None) as files:
        entry = files.stat(filesystem_pb2.StatRequest(path="/etc/hostname"), headers=address(sandbox)).entry
        assert entry.name == "hostname" and entry.type == filesystem_pb2.FILE_TYPE_FILE and entry.size > 0, entry
        try:
            files.stat(filesystem_pb2.StatRequest(path="/never-was"), headers=address(sandbox))
        except ConnectError as error:
            assert error.code == Code.NOT_FOUND, error
        else:
            raise AssertionError("a missing file gave an entry")


def check_kill(sandbox):
    rest("DELETE", f"/sandboxes/{sandbox.sandboxID}")


def main():
    checks = [check_start, check_stat, check_kill]
    passed, total = 0, 1 + len(checks)
    results = []

    def record(name, reason=None):
        results.append({"name": name, "operations": [], "reason": reason})
        if reason is not None:
            print(f"FAIL {name}: {reason}", flush=True)

    try:
        sandbox = create()
        passed += 1
        record("create")
        for check in checks:
            try:
                check(sandbox)
                passed += 1
                record(check.__name__[6:])
            except Exception as error:
                record(check.__name__[6:], f"{type(error).__name__}: {error}")
    except Exception as error:
        record("create", f"{type(error).__name__}: {error}")
    write_results("generated-python", [{"name": "generated from the contract, Python", "version": "", "methods": [], "checks": results}])
    print(f"conformance generated-python: {passed} of {total}", flush=True)
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
