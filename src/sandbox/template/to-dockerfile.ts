import { TemplateError } from "../../errors/error-classes.js";
import type { TemplateDefinition, TemplateStep } from "./template-step.js";

/**
 * A Dockerfile that says the same, as far as it can.
 *
 * @throws {@link TemplateError} the template begins with another template, which no Dockerfile can name.
 */
export function toDockerfile({ source, steps, startCommand }: TemplateDefinition): string {
  if (!("fromImage" in source)) {
    throw new TemplateError(
      `a template that begins with the template ${source.fromTemplate} cannot be written as a Dockerfile`,
      undefined,
      "invalid_argument",
    );
  }
  const lines = [`FROM ${source.fromImage}`, ...steps.map(toInstruction)];
  if (startCommand !== undefined) lines.push(`ENTRYPOINT ${startCommand}`);
  return `${lines.join("\n")}\n`;
}

function toInstruction({ type, args }: TemplateStep): string {
  const [first = "", second = "", third = "", fourth = ""] = args;
  switch (type) {
    case "RUN":
      return `RUN ${first.includes("\n") ? `<<EOF\n${first}\nEOF` : first}`;
    case "COPY":
      return `COPY ${third === "" ? "" : `--chown=${third} `}${fourth === "" ? "" : `--chmod=${fourth} `}${JSON.stringify([first, second])}`;
    case "ENV":
      return `ENV ${toPairs(args)
        .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
        .join(" ")}`;
    default:
      return `${type} ${first}`;
  }
}

function toPairs(args: readonly string[]): [string, string][] {
  return args.flatMap((name, index) => (index % 2 === 0 ? [[name, args[index + 1] ?? ""] as [string, string]] : []));
}
