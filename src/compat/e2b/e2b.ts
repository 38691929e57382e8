import type { ConnectionOpts } from "./connection.js";
import { Sandbox } from "./sandbox.js";
import { Secret } from "./secret.js";
import { createTemplate, type Template } from "./template.js";
import { Volume } from "./volume.js";

/** Options of everything that belongs to one {@link E2B}. */
export type E2BClientOpts = Omit<ConnectionOpts, "signal">;

/** Everything of this entry, bound to options: two of them may talk to two servers. */
export class E2B {
  readonly Sandbox: typeof Sandbox;
  readonly Volume: typeof Volume;
  readonly Template: typeof Template;
  readonly Secret: typeof Secret;

  constructor(options: E2BClientOpts = {}) {
    const boundOpts: ConnectionOpts = Object.freeze({ ...options });
    this.Sandbox = class extends Sandbox {
      static override readonly boundOpts = boundOpts;
    };
    this.Volume = class extends Volume {
      static override readonly boundOpts = boundOpts;
    };
    this.Secret = class extends Secret {
      static override readonly boundOpts = boundOpts;
    };
    this.Template = createTemplate(boundOpts);
  }
}
