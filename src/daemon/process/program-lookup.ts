import { accessSync, constants, statSync } from "node:fs";
import { posix } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { DEFAULT_PATH } from "./environment.js";

/**
 * Absolute path of a program: as given when it names a directory, else the first match in PATH.
 *
 * @throws {@link InvalidArgumentError} there is none, or it cannot be executed.
 */
export function findProgram(name: string, path: string | undefined, cwd: string): string {
  if (name === "") throw new InvalidArgumentError("no program is given: cmd is empty");
  if (name.includes("/")) {
    const file = posix.resolve(cwd, name);
    const problem = executableProblem(file);
    if (problem !== undefined) throw new InvalidArgumentError(`program '${name}' cannot be started: ${problem}`);
    return file;
  }
  for (const directory of (path || DEFAULT_PATH).split(":")) {
    const file = posix.resolve(cwd, directory, name);
    if (executableProblem(file) === undefined) return file;
  }
  throw new InvalidArgumentError(`program '${name}' was not found in PATH (${path || DEFAULT_PATH})`);
}

function executableProblem(file: string): string | undefined {
  try {
    if (!statSync(file).isFile()) return "it is not a regular file";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === "ENOENT" || code === "ENOTDIR" ? "no such file" : `it cannot be read (${String(code)})`;
  }
  try {
    accessSync(file, constants.X_OK);
    return undefined;
  } catch {
    return "it is not executable (chmod +x)";
  }
}
