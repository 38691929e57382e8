/** What a daemon can do, by the version of the wire that it reports. */
export const DAEMON_FEATURES = {
  recursiveWatch: "0.1.4",
  defaultUser: "0.4.0",
  closeStdin: "0.5.2",
  octetStreamUpload: "0.5.7",
  fileMetadata: "0.6.2",
  watchEntries: "0.6.3",
  watchNetworkMounts: "0.6.4",
} as const;

/** Whether version `version` is at least `minimum`; what is not a version counts as too old. */
export function isVersionAtLeast(version: string, minimum: string): boolean {
  const have = toNumbers(version);
  const want = toNumbers(minimum);
  for (let index = 0; index < want.length; index += 1) {
    const difference = (have[index] ?? -1) - (want[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function toNumbers(version: string): number[] {
  return (/^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1) ?? []).map(Number);
}
