import { SandboxError, type SandboxErrorOptions } from "./sandbox-error.js";

/** A value cannot cross the boundary of a sandbox, because it is no data: a function, a symbol, a promise, an instance of a class. */
export class SerializationError extends SandboxError {
  override readonly name: string = "SerializationError";
  /** Where the value stands, for example `arguments[0].rows[3]` or `result.handlers.onClick`. */
  readonly path: string;
  /** What stands there, for example `a function` or `an instance of Socket`. */
  readonly found: string;

  constructor(path: string, found: string, options?: SandboxErrorOptions) {
    super("invalid_argument", `${path} is ${found}, which is no data and cannot enter or leave a sandbox`, options);
    this.path = path;
    this.found = found;
  }
}
