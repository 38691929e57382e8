import { InternalError } from "../../errors/error-classes.js";

/** A field that has a default in the contract, which the validation has filled in; the generated type does not know that. */
export function filledIn<T>(value: T | undefined): T {
  if (value === undefined) throw new InternalError("a field that has a default in the contract is missing after the validation");
  return value;
}
