import { type Manifest, SandboxConfigurationError, SandboxWorkspaceStartError } from "@openai/agents-core/sandbox";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import { usersOf } from "./manifest-check.js";
import { runAsRoot, runLinesAsRoot } from "./root-script.js";

/** The parent may belong to root, and so would the directory; one that is there already keeps its owner. */
const MAKE_ROOT = 'if [ -d "$1" ]; then exit 0; fi; mkdir -p -- "$1" && chown -- "$2:" "$1"';

/** Make the directory of the workspace, which belongs to the user of commands, and the accounts of the manifest. */
export async function prepareWorkspace(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  const { root } = manifest;
  const user = (await sandbox.commands.run("id -un", { cwd: "/" })).stdout.trim().split("\n").at(-1) ?? "root";
  const { exitCode, stderr } = await runAsRoot(sandbox, MAKE_ROOT, [root, user]);
  if (exitCode !== 0) throw new SandboxWorkspaceStartError(`the workspace ${root} cannot be made: ${stderr.trim()}`, { root });
  await provisionAccounts(sandbox, manifest);
}

/** Make the users and groups of a manifest that are not there yet. */
export async function provisionAccounts(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  const failure = await runLinesAsRoot(sandbox, accountLines(manifest));
  if (failure !== undefined) throw new SandboxConfigurationError(`the accounts of the manifest cannot be made: ${failure}`);
}

function accountLines(manifest: Manifest): string[] {
  const groups = manifest.groups.map(({ name }) => quoteShellWord(name));
  const memberships = manifest.groups.flatMap(({ name, users = [] }) => users.map((user) => [name, user.name] as const));
  return [
    ...groups.map((name) => `getent group ${name} >/dev/null || groupadd ${name}`),
    ...usersOf(manifest).map((name) => {
      // A user has a group of its own name, which may be there as a group of the manifest.
      const add = `if getent group ${name} >/dev/null; then useradd -m -s /bin/bash -g ${name} ${name}; else useradd -m -s /bin/bash -U ${name}; fi`;
      return `id -u ${name} >/dev/null 2>&1 || { ${add}; }`;
    }),
    ...memberships.map(([group, user]) => `usermod -aG ${quoteShellWord(group)} ${quoteShellWord(user)}`),
  ];
}
