"""What a kernel says, as lines of the answer to POST /execute."""

import datetime
import re

# Keys of a result by the media type that they hold; everything else goes into `extra`.
KEYS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "e2b/data": "data",
    "e2b/chart": "chart",
}
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def iso_time(at=None):
    at = at or datetime.datetime.now(datetime.timezone.utc)
    return at.isoformat()


def to_line(message):
    """`None` for messages that are no part of an answer."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        at = message["header"].get("date")
        name = "stderr" if content["name"] == "stderr" else "stdout"
        return {"type": name, "text": content["text"], "timestamp": at.isoformat() if at else iso_time()}
    if kind == "execute_input":
        return {"type": "number_of_executions", "execution_count": content["execution_count"]}
    if kind in ("display_data", "execute_result"):
        return to_result(content["data"], kind == "execute_result")
    if kind == "error":
        traceback = COLOURS.sub("", "\n".join(content.get("traceback") or []))
        return {"type": "error", "name": content.get("ename", ""), "value": content.get("evalue", ""), "traceback": traceback}
    return None


def to_result(data, is_main_result):
    line = {"type": "result", "is_main_result": is_main_result}
    extra = {}
    for media_type, value in data.items():
        key = KEYS.get(media_type)
        if isinstance(value, list) and media_type not in ("application/json", "e2b/data", "e2b/chart"):
            value = "".join(value)
        if key is None:
            extra[media_type] = value
        elif value is not None:
            line[key] = unquote(value) if key == "text" else value
    line["extra"] = extra
    return line


def unquote(text):
    """The text of a string is the string, not its literal."""
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text
