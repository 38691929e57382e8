"""Which public methods of a client were called, as the interpreter tells it: nothing of the client is changed for it."""

import importlib
import inspect
import json
import os
import re
import sys
import threading

with open(os.path.join(os.path.dirname(__file__), "groups.json"), encoding="utf-8") as file:
    GROUPS = json.load(file)


def camel(name):
    """The name as the packages of npm spell it."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def group_of(class_name):
    return GROUPS.get(re.sub(r"^Async", "", class_name))


def is_of(flavor_is_async, module_name):
    """Modules of the package name the one of their two flavors that they are for."""
    words = re.split(r"[._]", module_name)
    return ("async" not in words) if not flavor_is_async else ("sync" not in words)


def public_methods(package, is_async):
    """`<group>.<method>` of every public method of the package, in one of its two flavors."""
    found = set()
    for module in modules_of(package):
        for name, member in vars(module).items():
            if not inspect.isclass(member) or member.__module__ != module.__name__ or not is_of(is_async, module.__name__):
                continue
            group = group_of(name)
            if group is None:
                continue
            for method in dir(member):
                if method.startswith("_") or inspect.isclass(getattr(member, method, None)):
                    continue
                if not callable(getattr(member, method, None)) or not is_here(member, method, package):
                    continue
                found.add(f"{group}.{camel(method)}")
    return found


def is_here(owner, method, package):
    """Whether the package itself defines the method, and does not inherit it from another one."""
    return any(method in vars(base) and base.__module__.split(".")[0] == package for base in owner.__mro__)


def modules_of(package):
    root = importlib.import_module(package)
    directory = os.path.dirname(root.__file__)
    names = []
    for folder, _, files in os.walk(directory):
        # Generated clients of the wire are no part of what people call.
        if os.path.relpath(folder, directory).split(os.sep)[0] in ("envd", "api") or os.sep + "client" in folder:
            continue
        path = os.path.relpath(folder, os.path.dirname(directory)).split(os.sep)
        names += [".".join([*path, name[:-3]]) for name in sorted(files) if name.endswith(".py") and not name.startswith("__")]
    return [root] + [importlib.import_module(name) for name in names]


class CallWatcher:
    """Counts calls of public methods of a package in every thread."""

    def __init__(self, package, methods):
        self._directory = os.path.dirname(importlib.import_module(package).__file__) + os.sep
        self._methods = methods
        self._known = {}
        self._called = set()

    def start(self):
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    def stop(self):
        sys.setprofile(None)
        threading.setprofile(None)

    def take(self):
        """Operations since the last time."""
        called, self._called = self._called, set()
        return sorted(called)

    def _profile(self, frame, event, _argument):
        if event != "call":
            return
        code = frame.f_code
        if code not in self._known:
            self._known[code] = self._operation(code)
        operation = self._known[code]
        if operation is not None:
            self._called.add(operation)

    def _operation(self, code):
        if not code.co_filename.startswith(self._directory):
            return None
        *_, owner, name = ["", *code.co_qualname.split(".")]
        operation = f"{group_of(owner)}.{camel(re.sub(r'^_(cls|static|class)_', '', name))}"
        return operation if operation in self._methods else None


def write_results(suite, clients):
    """One file of the suite in the directory that CONFORMANCE_RESULTS names; see write-results.mjs."""
    directory = os.environ.get("CONFORMANCE_RESULTS")
    if not directory or os.environ.get("CONFORMANCE_ONLY"):
        return
    os.makedirs(directory, exist_ok=True)
    results = [
        {"client": client["name"], "version": client["version"], "operations": {name: state_of(name, client["checks"]) for name in sorted(client["methods"])}}
        for client in clients
    ]
    checks = [
        {"name": check["name"], "passed": check["reason"] is None, **({} if check["reason"] is None else {"reason": check["reason"]})}
        for client in clients
        for check in client["checks"]
    ]
    with open(os.path.join(directory, f"{suite}.json"), "w", encoding="utf-8") as file:
        json.dump({"suite": suite, "results": results, "checks": checks}, file, indent=2)


def state_of(operation, checks):
    callers = [check for check in checks if operation in check["operations"]]
    failed = next((check for check in callers if check["reason"] is not None), None)
    if failed is not None:
        return {"state": "failed", "reason": f"{failed['name']}: {failed['reason']}"}
    return {"state": "passed" if callers else "not driven"}
