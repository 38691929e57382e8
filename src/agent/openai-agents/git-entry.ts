import { type GitRepo, SandboxGitCloneError, SandboxGitMissingInImageError, SandboxGitSubpathError } from "@openai/agents-core/sandbox";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { runAsRoot } from "./root-script.js";

const NO_GIT = 46;
const NO_SUBPATH = 47;

/**
 * Arguments: URL, destination, ref, subpath. What looks like a commit is fetched by itself, because a shallow clone takes names only; what
 * turns out to be a name after all is cloned.
 */
const SCRIPT = `
command -v git >/dev/null || exit ${NO_GIT}
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
repo=$work/repo
fetch_commit() {
  git init -q "$repo" && git -C "$repo" remote add origin "$1" &&
    git -C "$repo" fetch -q --depth 1 --no-tags origin "$2" && git -C "$repo" checkout -q --detach FETCH_HEAD
}
clone() {
  rm -rf -- "$repo"
  if [ -n "$2" ]; then git clone -q --depth 1 --branch "$2" -- "$1" "$repo"; else git clone -q --depth 1 -- "$1" "$repo"; fi
}
if printf %s "$3" | grep -Eqx '[0-9a-fA-F]{7,40}'; then
  fetch_commit "$1" "$3" 2>/dev/null || clone "$1" "$3" || exit 1
else
  clone "$1" "$3" || exit 1
fi
source=$repo
if [ -n "$4" ]; then
  source=$(realpath -e -- "$repo/$4" 2>/dev/null) || exit ${NO_SUBPATH}
  case "$source" in "$(realpath -- "$repo")"/*) ;; *) exit ${NO_SUBPATH} ;; esac
fi
if [ -d "$source" ]; then mkdir -p -- "$2" && cp -a -- "$source/." "$2/"; else mkdir -p -- "\${2%/*}/" && cp -a -- "$source" "$2"; fi
`;

/** Clone a repository into a directory of the sandbox, which has to reach it. What is made belongs to root. */
export async function cloneGitRepo(sandbox: Sandbox, entry: GitRepo, destination: string): Promise<void> {
  const { ref = "", subpath = "" } = entry;
  const { exitCode, stderr } = await runAsRoot(sandbox, SCRIPT, [urlOf(entry), destination, ref, subpath]);
  if (exitCode === 0) return;
  const repo = withoutSecrets(entry.repo);
  if (exitCode === NO_GIT)
    throw new SandboxGitMissingInImageError(`git_repo ${repo} needs git, which the template does not have`, { repo });
  if (exitCode === NO_SUBPATH) throw new SandboxGitSubpathError(`git_repo ${repo} has no subpath ${subpath}`, { repo, subpath });
  throw new SandboxGitCloneError(
    `git_repo ${repo} cannot be cloned, which happens in the sandbox and needs its way out: ${withoutSecrets(stderr.trim())}`,
    { repo, exitCode },
  );
}

function urlOf({ repo, host = "github.com" }: GitRepo): string {
  return repo.includes("://") || repo.startsWith("git@") ? repo : `https://${host}/${repo}.git`;
}

/** URLs without user names and passwords. */
function withoutSecrets(text: string): string {
  return text.replaceAll(/\/\/[^/@\s]*@/g, "//");
}
