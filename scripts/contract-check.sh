#!/usr/bin/env bash
# Check the contract: proto/ is formatted, linted and compatible with what was published; openapi/ is linted.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
PATH="$("$root/scripts/toolchain.sh"):$root/node_modules/.bin:$PATH"
export PATH REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

buf format --diff --exit-code
buf lint

# What others may already use: the last release, else main. On main itself that is the tree before the uncommitted changes, and
# without such changes the commit before.
published() {
  local tag main head
  if tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then
    echo "$tag"
    return
  fi
  head=$(git rev-parse --verify --quiet HEAD) || return 0
  for main in refs/remotes/origin/main refs/heads/main; do
    main=$(git rev-parse --verify --quiet "$main^{commit}") || continue
    if [ "$main" != "$head" ]; then
      git merge-base "$main" "$head" 2>/dev/null || echo "$main"
      return
    fi
  done
  if git diff --quiet HEAD -- proto buf.yaml; then
    git rev-parse --verify --quiet 'HEAD^{commit}^' || true
  else
    echo "$head"
  fi
}

before=$(published)
if [ -n "$before" ] && git cat-file -e "$before:proto" 2>/dev/null && git cat-file -e "$before:buf.yaml" 2>/dev/null; then
  against=$(mktemp -d)
  trap 'rm -rf "$against"' EXIT
  git archive "$before" proto buf.yaml | tar -x -C "$against"
  buf breaking --against "$against"
  echo "proto/ is compatible with $(git describe --tags --always "$before")"
else
  echo "proto/ has no published state in this clone to compare with"
fi

# common.yaml is linted as a part of those that refer to it.
redocly lint --format=stylish openapi/{lifecycle,envd,terminals,code-interpreter,server,volume-content,fc-control,fc-mounts}.yaml
