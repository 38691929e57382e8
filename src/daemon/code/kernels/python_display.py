"""Results of Python that programs read: frames as data, figures as charts, lists and dictionaries as JSON, images as images."""

import datetime
import importlib.abc
import math
import sys

from charts import chart_of
from IPython.core.formatters import BaseFormatter
from IPython.display import display
from traitlets import ObjectName, Unicode

# Cells of a frame that are sent as data; a larger one has its text and HTML, which pandas keeps short.
MAX_CELLS = 1_000_000
FALLBACK_FONT = "WenQuanYi Micro Hei"


class DataFormatter(BaseFormatter):
    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = dict


class ChartFormatter(BaseFormatter):
    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = dict


def install(shell):
    formatters = shell.display_formatter.formatters
    data, chart = DataFormatter(parent=shell.display_formatter), ChartFormatter(parent=shell.display_formatter)
    data.for_type_by_name("pandas.core.frame", "DataFrame", frame_data)
    formatters[data.format_type] = data
    formatters[chart.format_type] = chart
    for kind in (list, dict):
        formatters["application/json"].for_type(kind, plain)
    sys.meta_path.insert(0, AfterImport({"PIL.Image": show_images, "matplotlib": add_fallback_font, "matplotlib.figure": chart_figures}))


def frame_data(frame):
    if frame.size > MAX_CELLS:
        return None
    return {str(name): [plain(value) for value in frame.iloc[:, index].tolist()] for index, name in enumerate(frame.columns)}


def plain(value):
    """The value as JSON has it; what JSON cannot hold is its text, and what is no number is null."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        # "Not a time" of pandas is a date as well.
        return value.isoformat() if value == value else None
    for method in ("tolist", "item", "isoformat"):
        if callable(getattr(value, method, None)):
            simple = getattr(value, method)()
            if simple is not value:
                return plain(simple)
    return str(value)


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls a function with a module right after its first import."""

    def __init__(self, actions):
        self._actions = dict(actions)

    def find_spec(self, name, path, target=None):
        action = self._actions.pop(name, None)
        if action is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            action(module)

        spec.loader.exec_module = exec_module
        return spec


def show_images(module):
    Image = module.Image
    save = Image.save

    def save_and_show(self, fp, *args, **kwargs):
        save(self, fp, *args, **kwargs)
        if isinstance(fp, str):
            display(self)

    Image.save = save_and_show
    Image.show = lambda self, *_, **__: display(self)


def chart_figures(module):
    # Not registered with the formatter, because the display of figures in IPython takes all such registrations back.
    module.Figure._repr_e2b_chart_ = chart_of


def add_fallback_font(matplotlib):
    matplotlib.rcParams["font.family"] = [*matplotlib.rcParams["font.family"], FALLBACK_FONT]
