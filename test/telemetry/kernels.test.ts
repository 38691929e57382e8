import { expect, it } from "vitest";
import { Sandbox } from "../../src/code-interpreter.js";
import { connection, describeCode } from "../code/support/code-suite.js";
import { recordTelemetry } from "./support/recorded-telemetry.js";

const READ = {
  python: "import os; print(os.environ.get('TRACEPARENT'))",
  javascript: "console.log(process.env.TRACEPARENT)",
  bash: "echo $TRACEPARENT; bash -c 'echo $TRACEPARENT'",
} as const;

describeCode("the trace of an execution", (suite) => {
  it.each(Object.entries(READ))("is in the environment of %s while it runs, and not after it", async (language, code) => {
    const recorded = recordTelemetry();
    const watched = await Sandbox.connect(suite.sandbox.sandboxId, { ...connection(suite.platform), telemetry: recorded.telemetry });
    const { logs } = await watched.runCode(code, { language });
    const operation = recorded.span("code.run");
    const request = recorded.spans().find((span) => span.parentSpanContext?.spanId === operation.spanContext().spanId);
    const expected = `00-${request?.spanContext().traceId}-${request?.spanContext().spanId}-01`;
    expect(logs.stdout.join("").trim().split("\n")).toEqual(language === "bash" ? [expected, expected] : [expected]);

    const plain = await suite.sandbox.runCode(code, { language });
    expect(plain.logs.stdout.join("")).not.toContain("00-");
  });
});
