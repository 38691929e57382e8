#!/usr/bin/env bash
# Drive our platform with clients that are not ours, unmodified.
# Usage: scripts/conformance.sh [--install-only] [suite ...], suites: e2b-js e2b-python generated-python generated-go. All of them when none is named. Needs `npm run build` and `abx setup`.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
PATH="$("$root/scripts/toolchain.sh"):$PATH" || exit 1
export PATH
cd "$root/test/conformance" || exit 1

prepare_e2b-js() {
  (cd e2b-js && { cmp -s package-lock.json node_modules/.installed-lock || { npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock; }; })
}
run_e2b-js() { node with-platform.mjs node e2b-js/run.mjs; }

prepare_e2b-python() (
  cd e2b-python || exit 1
  cmp -s requirements.txt .venv/.installed-requirements && exit 0
  rm -rf .venv
  python3 -m venv .venv 2>/dev/null || {
    echo "installing python3-venv" >&2
    { [ "$(id -u)" = 0 ] && as_root= || as_root=sudo; } && $as_root apt-get install -q -y --no-install-recommends python3-venv >&2
    rm -rf .venv && python3 -m venv .venv
  } || exit 1
  .venv/bin/pip install --quiet --disable-pip-version-check --no-input --only-binary :all: --requirement requirements.txt &&
    cp requirements.txt .venv/.installed-requirements
)
run_e2b-python() { PYTHONDONTWRITEBYTECODE=1 node with-platform.mjs e2b-python/.venv/bin/python e2b-python/run.py; }

prepare_generated-python() { "$root/scripts/generate-polyglot.sh" python; }
run_generated-python() { PYTHONDONTWRITEBYTECODE=1 node with-platform.mjs generated-python/.venv/bin/python generated-python/run.py; }

# Debian's own Go is too old for the generators, and nothing is fetched from elsewhere: without a newer one the suite is left out.
has_go() { (cd generated-go && GOTOOLCHAIN=local go list -m) >/dev/null 2>&1; }
prepare_generated-go() { ! has_go || { "$root/scripts/generate-polyglot.sh" go && (cd generated-go && GOTOOLCHAIN=local go build -o .bin/checks .); }; }
run_generated-go() {
  has_go || { echo "conformance generated-go: left out, because this machine has no Go as new as generated-go/go.mod asks for"; return 0; }
  node with-platform.mjs generated-go/.bin/checks
}

failed=0
install_only=
[ "${1:-}" != --install-only ] || { install_only=1; shift; }
[ $# -gt 0 ] || set -- e2b-js e2b-python generated-python generated-go
for suite in "$@"; do
  if ! "prepare_$suite"; then
    echo "conformance $suite: the client could not be installed" >&2
    failed=1
    continue
  fi
  [ -n "$install_only" ] || "run_$suite" || failed=1
done
exit $failed
