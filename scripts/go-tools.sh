#!/bin/sh
# Runs a Go program, and builds it first if it is missing.
#   scripts/go-tools.sh PACKAGE@VERSION [ARGUMENT ...]
# From source through the Go module proxy, into a cache outside the repository:
#   GO_TOOLS_DIR, else XDG_CACHE_HOME/slipway/go-tools, else HOME/.cache/slipway/go-tools, else .tools/go-tools
# Exits with 127 when the program is missing and so is Go.
set -eu

target=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
package=${target%@*}
# The last folder of a package may be the major version of its module.
name=$(printf '%s\n' "$package" | sed 's,/v[0-9]*$,,; s,.*/,,')

say() { printf '%s\n' "slipway $name: $*" >&2; }
fail() { say "$*"; exit 1; }

is_usable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
base=${GO_TOOLS_DIR:-}
if [ -n "$base" ]; then
  is_usable "$base" || fail "GO_TOOLS_DIR=$base cannot be written"
else
  for base in ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/slipway/go-tools"} ${HOME:+"$HOME/.cache/slipway/go-tools"} "$root/.tools/go-tools"; do
    ! is_usable "$base" || break
  done
fi

# The version is in the name of the file, so another version never meets an old program.
program=$base/$name-${target##*@}-$(uname -sm | tr ' ' -)
if ! [ -x "$program" ]; then
  command -v go >/dev/null 2>&1 || { say "go is missing (on Debian: apt-get install golang-go)"; exit 127; }
  # Go keeps its modules and its build cache below the home folder; where that cannot be written, keep them here.
  is_usable "$(go env GOCACHE)" || export GOCACHE="$base/go-build"
  is_usable "$(go env GOMODCACHE)" || export GOMODCACHE="$base/go-mod"
  say "building $target; this takes seconds to some minutes, depending on the network"
  # Build in a temporary folder and rename the program, so that an interruption leaves nothing half done.
  fresh=$(mktemp -d "$base/new.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  trap 'exit 1' HUP INT TERM
  CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOWORK=off GOBIN=$fresh nice -n 10 go install -trimpath -ldflags "-s -w" "$target" >&2
  mv "$fresh/$name" "$program"
  rm -rf "$fresh"
fi

exec "$program" "$@"
