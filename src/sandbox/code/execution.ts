import type { Chart, ResultForms } from "../../protocol/code-types.js";

/** A piece of what code wrote. */
export interface CodeOutput {
  readonly text: string;
  /** When the kernel sent it. */
  readonly at: Date;
}

/** The exception that ended an execution. */
export interface ExecutionError {
  /** Class of the exception. */
  readonly name: string;
  /** Its message. */
  readonly value: string;
  /** Where it happened, without colours. */
  readonly traceback: string;
}

/** Names of the forms that a result may have. */
const FORMS = ["text", "html", "markdown", "svg", "png", "jpeg", "pdf", "latex", "json", "javascript", "data", "chart"] as const;

/** Something that code showed: the value of its last expression, or what it displayed on the way. Forms that it does not have are `undefined`. */
export class Result implements ResultForms {
  /** It is the value of the last expression. */
  readonly isMainResult: boolean;
  /** Plain text; of a string, the string without its quotes. */
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly markdown: string | undefined;
  /** SVG document. */
  readonly svg: string | undefined;
  /** PNG image in base64. */
  readonly png: string | undefined;
  /** JPEG image in base64. */
  readonly jpeg: string | undefined;
  /** PDF document in base64. */
  readonly pdf: string | undefined;
  readonly latex: string | undefined;
  readonly json: unknown;
  readonly javascript: string | undefined;
  /** Columns of a data frame by name. */
  readonly data: Readonly<Record<string, readonly unknown[]>> | undefined;
  /** A figure as data. */
  readonly chart: Chart | undefined;
  /** Every other form by its media type. */
  readonly extra: Readonly<Record<string, unknown>>;

  /** @internal */
  constructor(forms: ResultForms) {
    this.isMainResult = forms.isMainResult;
    this.text = forms.text;
    this.html = forms.html;
    this.markdown = forms.markdown;
    this.svg = forms.svg;
    this.png = forms.png;
    this.jpeg = forms.jpeg;
    this.pdf = forms.pdf;
    this.latex = forms.latex;
    this.json = forms.json;
    this.javascript = forms.javascript;
    this.data = forms.data;
    this.chart = forms.chart;
    this.extra = forms.extra;
  }

  /** Names of the forms that it has, those of `extra` by their media type. */
  formats(): string[] {
    return [...FORMS.filter((name) => this[name] !== undefined), ...Object.keys(this.extra)];
  }
}

/** What an execution gave. */
export interface Execution {
  /** The value of the last expression and everything that was displayed, in order. */
  readonly results: readonly Result[];
  /** What the code wrote, joined; at most `maxOutputBytes` of each. */
  readonly stdout: string;
  readonly stderr: string;
  /** The same in the pieces in which it came; empty with `maxOutputBytes`. */
  readonly logs: { readonly stdout: readonly string[]; readonly stderr: readonly string[] };
  /** The exception that ended it; `undefined` when there was none. */
  readonly error: ExecutionError | undefined;
  /** Executions of the kernel so far, this one included; `undefined` when the kernel ended before it began. */
  readonly executionCount: number | undefined;
  /** Text of the value of the last expression. */
  readonly text: string | undefined;
  /** Bytes that `stdout` and `stderr` leave out; `undefined` when nothing is missing. */
  readonly truncatedBytes: number | undefined;
}
