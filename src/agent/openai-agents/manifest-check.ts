import { isMount, type Manifest, SandboxConfigurationError, SandboxUnsupportedFeatureError } from "@openai/agents-core/sandbox";

/** What useradd(8) and groupadd(8) take, in the form that all systems share. */
const ACCOUNT = /^[a-z_][a-z0-9_-]{0,31}$/;

/**
 * Check that a sandbox of ours can hold what a manifest asks for.
 *
 * @throws `SandboxUnsupportedFeatureError` for mounts and paths of the host; `SandboxConfigurationError` for names that cannot be.
 */
export function assertManifestSupported(manifest: Manifest): void {
  for (const { logicalPath, entry } of manifest.iterEntries()) {
    if (!isMount(entry)) continue;
    throw new SandboxUnsupportedFeatureError(
      `the entry ${logicalPath || "."} is a mount (${entry.type}), which AgentSandboxClient cannot make: copy the files with local_dir, or ` +
        "give the client the option volumeMounts or mounts",
      { feature: "entry.mount", path: logicalPath, type: entry.type },
    );
  }
  for (const { path, hostPath } of manifest.extraPathGrants) {
    if (hostPath === undefined) continue;
    throw new SandboxUnsupportedFeatureError(
      `the path grant ${path} has a hostPath, but the files of this machine are not in the sandbox: give the client the option mounts`,
      { feature: "manifest.extraPathGrants.hostPath", path },
    );
  }
  for (const name of accountNames(manifest)) {
    if (ACCOUNT.test(name)) continue;
    throw new SandboxConfigurationError(`${JSON.stringify(name)} cannot be the name of a user or group`, { name });
  }
  for (const name of Object.keys(manifest.environment)) {
    if (/^[^=\0]+$/.test(name)) continue;
    throw new SandboxConfigurationError(`${JSON.stringify(name)} cannot be the name of an environment variable`, { name });
  }
}

/** Users of the manifest, with those that only a group names. */
export function usersOf({ users, groups }: Manifest): readonly string[] {
  const names = [...users, ...groups.flatMap((group) => group.users ?? [])].map(({ name }) => name);
  return [...new Set(names)];
}

function accountNames(manifest: Manifest): readonly string[] {
  const owners = [...manifest.iterEntries()].flatMap(({ entry }) => (entry.group === undefined ? [] : [entry.group.name]));
  return [...usersOf(manifest), ...manifest.groups.map(({ name }) => name), ...owners];
}
