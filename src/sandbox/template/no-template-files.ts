import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { TemplateContext, TemplateContextOptions } from "./template-files-types.js";

/** There are no local files outside of Node. */
export function openTemplateContext(_options: TemplateContextOptions): TemplateContext {
  throw new FailedPreconditionError("copying files into a template works on Node only", { operation: "template.copy" });
}

/** There are no local files outside of Node, so every text is the content. */
export function readDockerfile(contentOrPath: string): string {
  return contentOrPath;
}
