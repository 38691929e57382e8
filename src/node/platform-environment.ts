const PASSED_ON = /^(PATH|HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|AGENT_SANDBOX_(?!API_KEY$|API_URL$)\w+)$/;

/** Variables of this process that a platform gets which it starts: none that holds a credential of the caller. */
export function platformEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name)));
}
