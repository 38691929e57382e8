/** How positions on an axis become numbers. */
export type ChartScale = "linear" | "datetime" | "categorical" | "log" | "symlog" | "logit" | "function" | "functionlog" | "asinh";

interface Axes {
  readonly title: string | null;
  readonly x_label: string | null;
  readonly y_label: string | null;
  /** What stands in parentheses or brackets in the label. */
  readonly x_unit: string | null;
  readonly y_unit: string | null;
}

interface PointChart extends Axes {
  /** Positions of the ticks; ISO strings on a `datetime` axis. */
  readonly x_ticks: readonly (number | string)[];
  readonly y_ticks: readonly (number | string)[];
  readonly x_tick_labels: readonly string[];
  readonly y_tick_labels: readonly string[];
  readonly x_scale: ChartScale;
  readonly y_scale: ChartScale;
  readonly elements: readonly { readonly label: string; readonly points: readonly (readonly [number | string, number | string])[] }[];
}

/** Lines. */
export interface LineChart extends PointChart {
  readonly type: "line";
}

/** Points. */
export interface ScatterChart extends PointChart {
  readonly type: "scatter";
}

/** Bars; lying ones have the labels of their axes exchanged, so values are always read upwards. */
export interface BarChart extends Axes {
  readonly type: "bar";
  readonly elements: readonly { readonly label: string; readonly group: string; readonly value: number | string }[];
}

/** Boxes with whiskers. */
export interface BoxAndWhiskerChart extends Axes {
  readonly type: "box_and_whisker";
  readonly elements: readonly {
    readonly label: string;
    readonly min: number;
    readonly first_quartile: number;
    readonly median: number | null;
    readonly third_quartile: number;
    readonly max: number;
    readonly outliers: readonly number[];
  }[];
}

/** Pieces of a whole; angles in degrees. */
export interface PieChart {
  readonly type: "pie";
  readonly title: string | null;
  readonly elements: readonly { readonly label: string; readonly angle: number; readonly radius: number }[];
}

/** More than one chart in a figure. */
export interface SuperChart {
  readonly type: "superchart";
  readonly title: string | null;
  readonly elements: readonly Chart[];
}

/** A chart of no kind that is known. */
export interface UnknownChart {
  readonly type: "unknown";
  readonly title: string | null;
  readonly elements: readonly unknown[];
}

/** A figure as data, with the names of the wire. */
export type Chart = LineChart | ScatterChart | BarChart | PieChart | BoxAndWhiskerChart | SuperChart | UnknownChart;

/** One kernel with its state. */
export interface CodeContext {
  readonly id: string;
  /** Lower-case name, without aliases. */
  readonly language: string;
  /** Directory in which its kernel starts. */
  readonly cwd: string;
}

/** Something that code showed, by every form in which it can be shown. */
export interface ResultForms {
  readonly isMainResult: boolean;
  readonly text?: string | undefined;
  readonly html?: string | undefined;
  readonly markdown?: string | undefined;
  readonly svg?: string | undefined;
  readonly png?: string | undefined;
  readonly jpeg?: string | undefined;
  readonly pdf?: string | undefined;
  readonly latex?: string | undefined;
  readonly json?: unknown;
  readonly javascript?: string | undefined;
  readonly data?: Readonly<Record<string, readonly unknown[]>> | undefined;
  readonly chart?: Chart | undefined;
  readonly extra: Readonly<Record<string, unknown>>;
}

/** What comes from an execution, in order. */
export type CodeEvent =
  | { readonly type: "started"; readonly executionCount: number }
  | { readonly type: "stdout" | "stderr"; readonly text: string; readonly at: Date }
  | { readonly type: "result"; readonly forms: ResultForms }
  | { readonly type: "error"; readonly name: string; readonly value: string; readonly traceback: string };
