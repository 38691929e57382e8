import assert from "node:assert/strict";
import { Sandbox } from "@e2b/code-interpreter";

const plot = (code) => `import matplotlib.pyplot as plt\n${code}\nplt.show()`;

export const results = {
  title: "results",
  setUp: async () => ({ sandbox: await Sandbox.create({ timeoutMs: 300_000 }) }),
  tearDown: ({ sandbox }) => sandbox.kill(),
  checks: {
    "a data frame is HTML and data": async ({ sandbox }) => {
      const code = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'at': pd.to_datetime(['2024-01-02', None])})";
      const [result] = (await sandbox.runCode(code)).results;
      assert.match(result.html, /<table/);
      assert.deepEqual(result.data, { a: [1, 2], at: ["2024-01-02T00:00:00", null] });
      assert.ok(result.formats().includes("html") && result.formats().includes("data"), String(result.formats()));
    },
    "lists and dictionaries are JSON, numpy included": async ({ sandbox }) => {
      const [result] = (await sandbox.runCode("import numpy as np\n{1: np.int64(2), 'b': [np.float64(0.5)]}")).results;
      assert.deepEqual(result.json, { 1: 2, b: [0.5] });
    },
    "other forms keep their names": async ({ sandbox }) => {
      const code =
        "from IPython.display import *\ndisplay(HTML('<b>'), Markdown('*m*'), Latex('$x$'), SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"/>'), Javascript('1'))\ndisplay({'x/y': 1}, raw=True)";
      const shown = (await sandbox.runCode(code)).results;
      assert.equal(shown[0].html, "<b>");
      assert.equal(shown[1].markdown, "*m*");
      assert.equal(shown[2].latex, "$x$");
      assert.match(shown[3].svg, /<svg/);
      assert.equal(shown[4].javascript, "1");
      assert.deepEqual(shown[5].raw.extra, { "x/y": 1 });
    },
    "images of Pillow are shown when they are shown or saved": async ({ sandbox }) => {
      const run = await sandbox.runCode("from PIL import Image\ni = Image.new('RGB', (2, 2))\ni.show()\ni.save('/tmp/i.png')\ni");
      assert.equal(run.results.length, 3);
      for (const { png } of run.results) assert.equal(Buffer.from(png, "base64").toString("latin1", 1, 4), "PNG");
    },
    "a line chart": async ({ sandbox }) => {
      const code = plot("plt.plot([1, 2, 3], [4, 5, 6], label='one'); plt.title('T'); plt.xlabel('Time (s)'); plt.ylabel('V')");
      const [{ png, chart }] = (await sandbox.runCode(code)).results;
      assert.ok(png.length > 1000);
      assert.deepEqual(
        [chart.type, chart.title, chart.x_label, chart.x_unit, chart.y_label, chart.y_unit, chart.x_scale],
        ["line", "T", "Time (s)", "s", "V", null, "linear"],
      );
      const points = [[1, 4], [2, 5], [3, 6]]; // biome-ignore format: as in the code
      assert.deepEqual(chart.elements, [{ label: "one", points }]);
    },
    "a line chart over dates": async ({ sandbox }) => {
      const code = plot("from datetime import datetime\nplt.plot([datetime(2024, 1, d) for d in (1, 2)], [1, 2])");
      const [{ chart }] = (await sandbox.runCode(code)).results;
      assert.equal(chart.x_scale, "datetime");
      assert.deepEqual(chart.elements[0].points[0], ["2024-01-01T00:00:00", 1]);
      assert.match(chart.elements[0].label, /^Line 0$/);
    },
    "a bar chart": async ({ sandbox }) => {
      const [{ chart }] = (await sandbox.runCode(plot("plt.bar(['a', 'b'], [1, 2])"))).results;
      assert.equal(chart.type, "bar");
      assert.deepEqual(chart.elements.map(({ label, group, value }) => [label, group, value]), [["a", "Group 0", 1], ["b", "Group 0", 2]]); // biome-ignore format: a table
    },
    "a lying bar chart": async ({ sandbox }) => {
      const [{ chart }] = (await sandbox.runCode(plot("plt.barh(['a', 'b'], [1, 2]); plt.xlabel('X'); plt.ylabel('Y')"))).results;
      assert.deepEqual([chart.x_label, chart.y_label], ["Y", "X"]);
      assert.deepEqual(chart.elements.map(({ label, value }) => [label, value]), [["a", 1], ["b", 2]]); // biome-ignore format: a table
    },
    "a scatter chart": async ({ sandbox }) => {
      const [{ chart }] = (await sandbox.runCode(plot("plt.scatter([1, 2], [3, 4], label='s')"))).results;
      assert.deepEqual([chart.type, chart.elements], ["scatter", [{ label: "s", points: [[1, 3], [2, 4]] }]]); // biome-ignore format: a table
    },
    "a pie chart": async ({ sandbox }) => {
      const [{ chart }] = (await sandbox.runCode(plot("plt.pie([90, 10], labels=['a', 'b'])"))).results;
      assert.deepEqual([chart.type, chart.elements[0]], ["pie", { label: "a", angle: 324, radius: 1 }]);
    },
    "a chart with boxes and whiskers": async ({ sandbox }) => {
      const code = plot("plt.boxplot([[1, 2, 3, 4, 5], [2, 4, 6, 8, 30]], patch_artist=True, labels=['a', 'b'])");
      const [{ chart }] = (await sandbox.runCode(code)).results;
      assert.equal(chart.type, "box_and_whisker");
      assert.deepEqual(chart.elements[0], { label: "a", min: 1, first_quartile: 2, median: 3, third_quartile: 4, max: 5, outliers: [] });
      assert.deepEqual([chart.elements[1].label, chart.elements[1].median, chart.elements[1].outliers], ["b", 6, [30]]);
    },
    "more than one chart": async ({ sandbox }) => {
      const code = plot("f, (a, b) = plt.subplots(1, 2)\na.plot([1, 2])\nb.bar(['x'], [1])\nf.suptitle('S')");
      const [{ chart }] = (await sandbox.runCode(code)).results;
      assert.deepEqual([chart.type, chart.title, chart.elements.map(({ type }) => type)], ["superchart", "S", ["line", "bar"]]);
    },
    "logarithmic scales, and charts of no known kind": async ({ sandbox }) => {
      const [line] = (await sandbox.runCode(plot("plt.plot([1, 10, 100]); plt.yscale('log')"))).results;
      assert.equal(line.chart.y_scale, "log");
      const [image] = (await sandbox.runCode(plot("plt.imshow([[1]])"))).results;
      assert.equal(image.chart.type, "unknown");
    },
    "a figure is shown once, and its value is one more result": async ({ sandbox }) => {
      const run = await sandbox.runCode(`${plot("plt.plot([1])")}\n7`);
      assert.deepEqual(run.results.map(({ isMainResult }) => isMainResult), [false, true]); // biome-ignore format: short
    },
  },
};
