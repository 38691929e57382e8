/** The oldest Node that runs `abx`, as `engines` of the package says: the platform keeps its records in the SQLite that it brings. */
const OLDEST = [22, 13] as const;

/** What to say to somebody whose Node is too old; `undefined` where it is not. */
export function complaintAboutNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `needs Node ${OLDEST.join(".")} or newer, and this is ${version}: install a newer one, or use the one that npm has: npx -p node@24 -p @agent-sandbox/sdk abx`;
}
