from support import equal, settle

PLOT = "import matplotlib.pyplot as plt\n{}\nplt.show()"


async def check_data_frame(flavor, sandbox):
    code = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [0.5, None]})"
    result = (await settle(sandbox.run_code(code))).results[0]
    equal(result.data, {"a": [1, 2], "b": [0.5, None]})
    assert "<table" in result._repr_html_() and "html" in list(result.formats())


async def check_json(flavor, sandbox):
    equal((await settle(sandbox.run_code("{'a': [1, None]}"))).results[0].json, {"a": [1, None]})


async def check_extra(flavor, sandbox):
    equal((await settle(sandbox.run_code("display({'x/y': 1}, raw=True)"))).results[0].extra, {"x/y": 1})


async def check_line_chart(flavor, sandbox):
    code = PLOT.format("plt.plot([1, 2], [3, 4], label='one'); plt.title('T'); plt.xlabel('Time (s)')")
    result = (await settle(sandbox.run_code(code))).results[0]
    chart = result.chart
    equal((chart.type.value, chart.title, chart.x_label, chart.x_unit), ("line", "T", "Time (s)", "s"))
    equal((chart.elements[0].label, [tuple(point) for point in chart.elements[0].points]), ("one", [(1, 3), (2, 4)]))
    assert result.png


async def check_bar_chart(flavor, sandbox):
    chart = (await settle(sandbox.run_code(PLOT.format("plt.bar(['a', 'b'], [1, 2])")))).results[0].chart
    equal([(bar.label, bar.group, float(bar.value)) for bar in chart.elements], [("a", "Group 0", 1), ("b", "Group 0", 2)])


async def check_pie_chart(flavor, sandbox):
    chart = (await settle(sandbox.run_code(PLOT.format("plt.pie([90, 10], labels=['a', 'b'])")))).results[0].chart
    equal((chart.elements[0].label, chart.elements[0].angle), ("a", 324))


async def check_box_chart(flavor, sandbox):
    code = PLOT.format("plt.boxplot([[1, 2, 3, 4, 5], [2, 4, 6, 8, 30]], patch_artist=True, labels=['a', 'b'])")
    boxes = (await settle(sandbox.run_code(code))).results[0].chart.elements
    equal([(box.label, box.min, box.median, box.max, box.outliers) for box in boxes], [("a", 1, 3, 5, []), ("b", 2, 6, 8, [30])])


async def check_scatter_and_superchart(flavor, sandbox):
    code = PLOT.format("f, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.scatter([1], [2])\nf.suptitle('S')")
    chart = (await settle(sandbox.run_code(code))).results[0].chart
    equal((chart.type.value, chart.title, [part.type.value for part in chart.elements]), ("superchart", "S", ["line", "scatter"]))
