#!/bin/sh
# Installs packages of npm for tests, if they are not there, and prints the folder that holds their node_modules.
#   scripts/node-tools.sh NAME
# From npm, in the versions and with the hashes of scripts/NAME/package-lock.json, without their install scripts, into a cache
# outside the repository: NODE_TOOLS_DIR, else XDG_CACHE_HOME/slipway/NAME-npm, else HOME/.cache/slipway/NAME-npm, else
# .tools/NAME-npm. They are apart from the packages of the project, because some need an older TypeScript.
# To move to other versions: change package.json, then
#   npm install --package-lock-only --ignore-scripts
set -eu

name=$1
root=$(cd "$(dirname "$0")/.." && pwd)
source=$root/scripts/$name

say() { printf '%s\n' "slipway $name: $*" >&2; }
fail() { say "$*"; exit 1; }

command -v npm >/dev/null 2>&1 || fail "npm is missing"

is_usable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
base=${NODE_TOOLS_DIR:-}
if [ -n "$base" ]; then
  is_usable "$base" || fail "NODE_TOOLS_DIR=$base cannot be written"
else
  for base in ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/slipway/$name-npm"} ${HOME:+"$HOME/.cache/slipway/$name-npm"} "$root/.tools/$name-npm"; do
    ! is_usable "$base" || break
  done
fi

# The versions and this script are the name of the folder, so another version never meets old packages.
key=$(cat "$root/scripts/node-tools.sh" "$source/package.json" "$source/package-lock.json" | cksum | cut -d" " -f1)
folder=$base/$key
if ! [ -d "$folder" ]; then
  say "installing into $folder"
  # Install into a temporary folder and rename it, so that an interruption leaves nothing half done.
  fresh=$(mktemp -d "$base/new.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  mkdir "$fresh/tools"
  cp "$source/package.json" "$source/package-lock.json" "$fresh/tools/"
  (cd "$fresh/tools" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2)
  # Another process may have been faster.
  [ -e "$folder" ] || mv "$fresh/tools" "$folder"
fi
printf '%s\n' "$folder"
