import { InvalidArgumentError } from "../../errors/error-classes.js";
import { quoteShellWord } from "../../shared/shell-quote.js";

/** A shell command and who runs it. */
export interface ShellStep {
  readonly command: string;
  readonly user?: string | undefined;
}

type OneOrMore = string | readonly string[];

/** At least one word, each quoted. */
function quoteAll(name: string, values: OneOrMore): string {
  const list = typeof values === "string" ? [values] : values;
  if (list.length === 0) throw new InvalidArgumentError(`${name} must not be empty`);
  return list.map(quoteShellWord).join(" ");
}

function optional(values: OneOrMore | undefined): string {
  const list = values === undefined ? [] : typeof values === "string" ? [values] : values;
  return list.map((value) => ` ${quoteShellWord(value)}`).join("");
}

const flag = (isSet: boolean | undefined, text: string): string => (isSet ? ` ${text}` : "");

export function removeStep(
  path: OneOrMore,
  { force, recursive, user }: { readonly force?: boolean; readonly recursive?: boolean; readonly user?: string },
): ShellStep {
  return { command: `rm${flag(recursive, "-r")}${flag(force, "-f")} -- ${quoteAll("path", path)}`, user };
}

export function renameStep(src: string, dest: string, { force, user }: { readonly force?: boolean; readonly user?: string }): ShellStep {
  return { command: `mv${flag(force, "-f")} -- ${quoteShellWord(src)} ${quoteShellWord(dest)}`, user };
}

export function makeDirStep(path: OneOrMore, { mode, user }: { readonly mode?: number; readonly user?: string }): ShellStep {
  const permissions = mode === undefined ? "" : ` -m ${toOctal(mode)}`;
  return { command: `mkdir -p${permissions} -- ${quoteAll("path", path)}`, user };
}

export function makeSymlinkStep(
  src: string,
  dest: string,
  { force, user }: { readonly force?: boolean; readonly user?: string },
): ShellStep {
  return { command: `ln -s${flag(force, "-f")} -- ${quoteShellWord(src)} ${quoteShellWord(dest)}`, user };
}

export function pipInstallStep(packages: OneOrMore | undefined, { g = true }: { readonly g?: boolean }): ShellStep {
  const what = packages === undefined || packages.length === 0 ? " ." : optional(packages);
  // Debian marks its Python as managed by apt; in a sandbox nobody else manages it. Older pips do not know the variable and ignore it.
  return { command: `PIP_BREAK_SYSTEM_PACKAGES=1 pip install${flag(!g, "--user")}${what}`, user: g ? "root" : undefined };
}

export function npmInstallStep(packages: OneOrMore | undefined, { g, dev }: { readonly g?: boolean; readonly dev?: boolean }): ShellStep {
  return { command: `npm install${flag(g, "-g")}${flag(dev, "--save-dev")}${optional(packages)}`, user: g ? "root" : undefined };
}

export function bunInstallStep(packages: OneOrMore | undefined, { g, dev }: { readonly g?: boolean; readonly dev?: boolean }): ShellStep {
  const verb = packages === undefined || packages.length === 0 ? "install" : "add";
  return { command: `bun ${verb}${flag(g, "-g")}${flag(dev, "--dev")}${optional(packages)}`, user: g ? "root" : undefined };
}

export function aptInstallStep(
  packages: OneOrMore,
  { noInstallRecommends, fixMissing }: { readonly noInstallRecommends?: boolean; readonly fixMissing?: boolean },
): ShellStep {
  const flags = `-y${flag(noInstallRecommends, "--no-install-recommends")}${flag(fixMissing, "--fix-missing")}`;
  return {
    command: `apt-get update && DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install ${flags} ${quoteAll("packages", packages)}`,
    user: "root",
  };
}

export function gitCloneStep(
  url: string,
  path: string | undefined,
  { branch, depth, user }: { readonly branch?: string; readonly depth?: number; readonly user?: string },
): ShellStep {
  if (depth !== undefined && (!Number.isInteger(depth) || depth < 1)) {
    throw new InvalidArgumentError(`depth must be a whole number of at least 1, not ${String(depth)}`);
  }
  const only = branch === undefined ? "" : ` --branch ${quoteShellWord(branch)} --single-branch`;
  const shallow = depth === undefined ? "" : ` --depth ${depth}`;
  return { command: `git clone${only}${shallow} -- ${quoteShellWord(url)}${optional(path)}`, user };
}

/** Four octal digits. @throws {@link InvalidArgumentError} no permission bits. */
export function toOctal(mode: number): string {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) {
    throw new InvalidArgumentError(`mode must be permission bits such as 0o755, not ${String(mode)}`);
  }
  return mode.toString(8).padStart(4, "0");
}
