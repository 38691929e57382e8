#!/usr/bin/env bash
# Drive our platform with clients that are not ours, unmodified.
# Usage: scripts/conformance.sh [suite ...], suites: e2b-js e2b-python. All of them when none is named. Needs `npm run build` and `abx setup`.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$("$root/scripts/toolchain.sh"):$PATH" || exit 1
export PATH
cd "$root/test/conformance" || exit 1

prepare_e2b-js() {
  (cd e2b-js && { cmp -s package-lock.json node_modules/.installed-lock || { npm ci --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock; }; })
}
run_e2b-js() { node with-platform.mjs node e2b-js/run.mjs; }

failed=0
[ $# -gt 0 ] || set -- e2b-js
for suite in "$@"; do
  if ! "prepare_$suite"; then
    echo "conformance $suite: the client could not be installed" >&2
    failed=1
    continue
  fi
  "run_$suite" || failed=1
done
exit $failed
