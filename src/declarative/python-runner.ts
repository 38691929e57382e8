import { PYTHON_CODEC } from "./python-codec.js";

/**
 * The program that calls a function of Python inside a sandbox, as `python3 run.py <module> <function> <arguments> <result>`; the counterpart
 * of `guest/run-function.ts`.
 */
export const PYTHON_RUNNER = `${PYTHON_CODEC}

import asyncio, importlib.util, inspect, os, sys


def call(module_path, name, encoded):
    try:
        spec = importlib.util.spec_from_file_location("remote_module", module_path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["remote_module"] = module
        spec.loader.exec_module(module)
        function = getattr(module, name, None)
        if not callable(function):
            found = ", ".join(key for key, item in vars(module).items() if inspect.isfunction(item)) or "none"
            raise AttributeError("the module has no function " + name + "; it has: " + found)
        value = function(*decode(encoded))
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return {"type": "returned", "value": value}
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        drop_own_frames(error)
        return {"type": "threw", "error": error}


def drop_own_frames(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__ and trace.tb_next is not None:
        trace = trace.tb_next
    error.__traceback__ = trace


def to_text(frame):
    try:
        return encode(frame, "frame")
    except Unencodable as error:
        path = "result" + error.path[len("frame.value"):]
        return encode({"type": "unencodable", "path": path, "found": error.found}, "frame")


def main(module_path, name, arguments_path, result_path):
    directory = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [os.path.join(directory, "packages")]
    with open(arguments_path, encoding="utf-8") as file:
        encoded = file.read()
    os.remove(arguments_path)
    text = to_text(call(module_path, name, encoded))
    with open(result_path + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(result_path + ".part", result_path)
    sys.stdout.flush()
    sys.stderr.flush()
    # The call is over, whatever threads it left.
    os._exit(0)


sys.setrecursionlimit(10000)
main(*sys.argv[1:])
`;
