/** Entry `@agent-sandbox/sdk/code-interpreter`: the root entry, whose sandboxes are made from `code-interpreter-v1` when no template is named. */
import { Sandbox as BaseSandbox } from "./index.js";

export * from "./index.js";

/** The same class, whose sandboxes are made from `code-interpreter-v1` when no template is named. */
export class Sandbox extends BaseSandbox {
  static override readonly defaultTemplate: string = "code-interpreter-v1";
}
