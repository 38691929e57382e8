import { TemplateError } from "./error-classes.js";
import type { SandboxErrorOptions } from "./sandbox-error.js";

/** The build of a template failed. */
export class BuildError extends TemplateError {
  override readonly name: string = "BuildError";
  /** `base`, the number of the step from 1, or `finalize`; `undefined` when it failed outside of those. */
  readonly step: string | undefined;
  constructor(message: string, options?: SandboxErrorOptions & { readonly step?: string | undefined }) {
    super(message, options, "failed_precondition");
    this.step = options?.step;
  }
}

/** The files of a COPY step could not be read or uploaded. */
export class FileUploadError extends BuildError {
  override readonly name: string = "FileUploadError";
}
