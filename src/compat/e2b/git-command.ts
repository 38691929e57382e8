import { CommandExitError, type CommandResult, type Commands, InvalidArgumentError } from "../../index.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import { GitAuthError, GitUpstreamError } from "./errors.js";
import type { GitRequestOpts } from "./git-options.js";

/** Asks nothing on a terminal, and says in English what failed. */
const ENVS = { GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };
/** A helper that reads the credentials from its environment, so that no command line shows them. */
const HELPER =
  '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$AGENT_SANDBOX_GIT_USER" "$AGENT_SANDBOX_GIT_PASSWORD"; }; f';
const AUTHENTICATION =
  /authentication failed|could not read username|could not read password|terminal prompts disabled|invalid username or|permission denied|access denied|403 forbidden|the requested url returned error: 40[13]/i;
const UPSTREAM = /no upstream branch|no tracking information|has no upstream|no upstream configured|set the remote as upstream/i;

/** Credentials for one call. */
export interface GitLogin {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/**
 * Run git in the sandbox.
 *
 * @throws {@link GitAuthError} the remote refused the credentials; {@link GitUpstreamError} the branch has no upstream;
 * {@link CommandExitError} everything else.
 */
export async function runGit(
  commands: Commands,
  args: readonly string[],
  { envs, user, cwd, timeoutMs, requestTimeoutMs, signal }: GitRequestOpts = {},
  login?: GitLogin,
): Promise<CommandResult> {
  const secrets = login && toLogin(login);
  const command = quoteShellCommand([
    "git",
    ...(secrets ? ["-c", "credential.helper=", "-c", `credential.helper=${HELPER}`] : []),
    ...args,
  ]);
  try {
    return await commands.run(command, { user, cwd, timeoutMs, requestTimeoutMs, signal, envs: { ...ENVS, ...secrets, ...envs } });
  } catch (error) {
    if (!(error instanceof CommandExitError)) throw error;
    const said = `${error.stderr}\n${error.stdout}`;
    const text = `git ${args[0] === "-C" ? args[2] : args[0]} failed: ${error.stderr.trim() || error.stdout.trim()}`;
    if (AUTHENTICATION.test(said)) throw new GitAuthError(text, { operation: "git", cause: error });
    if (UPSTREAM.test(said)) throw new GitUpstreamError(text, { operation: "git", cause: error });
    throw error;
  }
}

/** @throws {@link InvalidArgumentError} one of the two without the other. */
export function assertLogin({ username, password }: GitLogin): void {
  if ((username === undefined) !== (password === undefined))
    throw new InvalidArgumentError("git needs username and password together, or neither");
}

function toLogin(login: GitLogin) {
  assertLogin(login);
  const { username, password } = login;
  return username === undefined ? undefined : { AGENT_SANDBOX_GIT_USER: username, AGENT_SANDBOX_GIT_PASSWORD: password };
}
