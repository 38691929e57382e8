"""Charts of matplotlib figures as data, in the model of openapi/code-interpreter.yaml."""

import re

UNIT = re.compile(r"[ ]\((.*?)\)|\[(.*?)\]")
DIGITS = 8
# matplotlib computes angles with single precision.
ANGLE_DIGITS = 6


def chart_of(figure):
    """The chart of a figure; without anything drawn, an empty object."""
    drawn = [axes for axes in figure.axes if _children(axes)]
    if not drawn:
        return {}
    charts = [_axes_chart(axes) for axes in figure.axes]
    if len(charts) == 1:
        return charts[0]
    title = figure._suptitle.get_text() if figure._suptitle else None
    return {"type": "superchart", "title": title or None, "elements": charts}


def _axes_chart(axes):
    kind, items = _kind_of(axes)
    chart = {"type": kind, "title": axes.get_title() or None}
    if kind in ("line", "scatter"):
        return {**chart, **_labels(axes), **_scales(axes), "elements": _POINTS[kind](axes, items)}
    if kind in ("bar", "box_and_whisker"):
        elements, is_horizontal = _VALUES[kind](axes, items)
        return {**chart, **_labels(axes, is_horizontal), "elements": elements}
    return {**chart, "elements": _pie(items) if kind == "pie" else []}


def _children(axes):
    from matplotlib.text import Text

    return [child for child in axes._children if not isinstance(child, Text)]


def _kind_of(axes):
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch, Rectangle, Wedge

    items = _children(axes)

    def all_are(*kinds):
        return bool(items) and all(isinstance(item, kinds) for item in items)

    if all_are(Line2D):
        return "line", [line for line in items if not _is_grid(line)]
    if all_are(PathPatch, Line2D):
        return "box_and_whisker", items
    items = [item for item in items if not (isinstance(item, Line2D) and _is_grid(item))]
    for kind, wanted in (("scatter", PathCollection), ("pie", Wedge), ("bar", Rectangle)):
        if all_are(wanted):
            return kind, items
    return "unknown", []


def _is_grid(line):
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == 2 and len(y) == 2 and (x[0] == x[1] or y[0] == y[1])


def _labels(axes, is_swapped=False):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    if is_swapped:
        x, y = y, x
    return {"x_label": x, "y_label": y, "x_unit": _unit(x), "y_unit": _unit(y)}


def _unit(label):
    found = UNIT.search(label or "")
    return (found.group(1) or found.group(2)) if found else None


def _scales(axes):
    facts = {}
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks = list(axis.get_ticklocs())
        labels = [label.get_text() for label in axis.get_ticklabels()]
        is_date = _is_date(axis)
        facts[f"{name}_ticks"] = [_date(tick) if is_date else _number(tick) for tick in ticks]
        facts[f"{name}_tick_labels"] = labels
        facts[f"{name}_scale"] = "datetime" if is_date else _scale(axis, ticks, labels)
    return facts


def _scale(axis, ticks, labels):
    scale = axis.get_scale()
    if scale == "linear" and ticks and all(tick == index for index, tick in enumerate(ticks)):
        if any(label != str(index) for index, label in enumerate(labels)):
            return "categorical"
    return scale


def _is_date(axis):
    names = (type(axis.get_converter() if hasattr(axis, "get_converter") else axis.converter)).__mro__
    return any("DateConverter" in kind.__name__ or "DatetimeConverter" in kind.__name__ for kind in names)


def _date(value):
    from matplotlib.dates import num2date

    return num2date(value).isoformat() if isinstance(value, (int, float)) else _point(value)


def _point(value):
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "datetime64":
        return str(value)
    return _number(value) if not isinstance(value, str) else value


def _number(value):
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (int, str)) else float(value)


def _rounded(value, digits=DIGITS):
    return float(f"{float(value):.{digits}g}")


def _name(label, word):
    found = re.fullmatch(r"_(?:child|container)(\d+)", str(label))
    return f"{word} {found.group(1)}" if found else str(label)


def _lines(axes, lines):
    is_x_date, is_y_date = _is_date(axes.xaxis), _is_date(axes.yaxis)

    def points(line):
        for x, y in zip(line.get_xdata(), line.get_ydata()):
            yield [_date(x) if is_x_date else _point(x), _date(y) if is_y_date else _point(y)]

    return [{"label": _name(line.get_label(), "Line"), "points": list(points(line))} for line in lines]


def _scatter(axes, collections):
    is_x_date, is_y_date = _is_date(axes.xaxis), _is_date(axes.yaxis)

    def points(collection):
        for x, y in collection.get_offsets():
            yield [_date(float(x)) if is_x_date else _number(x), _date(float(y)) if is_y_date else _number(y)]

    return [{"label": _name(each.get_label(), "Points"), "points": list(points(each))} for each in collections]


def _pie(wedges):
    return [
        {"label": each.get_label(), "angle": _rounded(abs(each.theta2 - each.theta1), ANGLE_DIGITS), "radius": _rounded(each.r)}
        for each in wedges
    ]


def _bars(axes, rectangles):
    heights = {_rounded(each.get_height()) for each in rectangles}
    widths = {_rounded(each.get_width()) for each in rectangles}
    # Bars of equal values stand or lie alike; those that also are equally wide stand.
    is_horizontal = len(heights) == 1 and len(widths) > 1
    axis = axes.yaxis if is_horizontal else axes.xaxis
    ticks = [(float(tick), label.get_text()) for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels())]
    elements = []
    for index, container in enumerate(axes.containers):
        for bar in container:
            if is_horizontal:
                middle, value = bar.get_y() + bar.get_height() / 2, bar.get_width()
            else:
                middle, value = bar.get_x() + bar.get_width() / 2, bar.get_height()
            group = _name(container.get_label(), "Group") if container.get_label() else f"Group {index}"
            elements.append({"label": _nearest(middle, ticks), "group": group, "value": _number(value)})
    return elements, is_horizontal


def _nearest(position, ticks):
    if not ticks:
        return str(_rounded(position))
    return min(ticks, key=lambda tick: abs(tick[0] - position))[1]


def _boxes(axes, items):
    from matplotlib.patches import PathPatch

    boxes = [item for item in items if isinstance(item, PathPatch)]
    lines = [item for item in items if not isinstance(item, PathPatch)]
    heights = {_rounded(_span(box, 1)[1] - _span(box, 1)[0]) for box in boxes}
    is_horizontal = len(boxes) > 1 and len(heights) == 1
    along, across = (0, 1) if is_horizontal else (1, 0)
    axis = axes.yaxis if is_horizontal else axes.xaxis
    ticks = [(float(tick), label.get_text()) for tick, label in zip(axis.get_ticklocs(), axis.get_ticklabels())]
    return [_box(box, lines, along, across, ticks) for box in boxes], is_horizontal


def _box(box, lines, along, across, ticks):
    first, third = _span(box, along)
    start, end = _span(box, across)
    ends, outliers, median = [first, third], [], None
    for line in lines:
        data = (list(line.get_xdata()), list(line.get_ydata()))
        if not data[across] or not all(start <= value <= end for value in data[across]):
            continue
        if line.get_linestyle() == "None":
            outliers.extend(_rounded(value) for value in data[along])
        elif len(set(data[along])) == 1 and {_rounded(min(data[across])), _rounded(max(data[across]))} == {_rounded(start), _rounded(end)}:
            median = data[along][0]
        else:
            ends.extend(data[along])
    return {
        "label": _nearest((start + end) / 2, ticks),
        "min": _rounded(min(ends)),
        "first_quartile": _rounded(first),
        "median": None if median is None else _rounded(median),
        "third_quartile": _rounded(third),
        "max": _rounded(max(ends)),
        "outliers": outliers,
    }


def _span(patch, dimension):
    values = [float(vertex[dimension]) for vertex in patch.get_path().vertices[:4]]
    return min(values), max(values)


_POINTS = {"line": _lines, "scatter": _scatter}
_VALUES = {"bar": _bars, "box_and_whisker": _boxes}
