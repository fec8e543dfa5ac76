#!/bin/sh
# Builds the missing Kubernetes programs for the cluster tests, and prints their folder.
#   scripts/kube-tools.sh PROGRAM...      such as: etcd kube-apiserver (names: scripts/kube-tools/programs.txt), or: all
# From source through the Go module proxy, in pinned versions, into a cache outside the repository:
#   KUBE_TOOLS_DIR, else XDG_CACHE_HOME/slipway/kube-tools, else HOME/.cache/slipway/kube-tools, else .tools/kube-tools
# KUBEBUILDER_ASSETS: a folder whose etcd, kube-apiserver and kubectl are used instead of building them.
# Concurrent callers are safe: one builds, the others wait.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
modules=$root/scripts/kube-tools
list=$modules/programs.txt

say() { printf '%s\n' "slipway kube-tools: $*" >&2; }
fail() { say "$*"; exit 1; }
origin_of() { awk -v name="$1" '$1 == name { print $2 }' "$list"; }
package_of() { awk -v name="$1" '$1 == name { print $3 }' "$list"; }
file_of() { awk -v name="$1" '$1 == name { print $4 }' "$list"; }

# shellcheck disable=SC2046 -- names have no spaces
[ "$*" != all ] || set -- $(awk '!/^#/ { print $1 }' "$list")
[ $# -gt 0 ] || fail "name the programs to build, such as: etcd kube-apiserver"
for program; do
  [ -n "$(origin_of "$program")" ] || fail "no program $program in $list"
done

is_usable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
base=${KUBE_TOOLS_DIR:-}
if [ -n "$base" ]; then
  is_usable "$base" || fail "KUBE_TOOLS_DIR=$base cannot be written"
else
  for base in ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/slipway/kube-tools"} ${HOME:+"$HOME/.cache/slipway/kube-tools"} "$root/.tools/kube-tools"; do
    ! is_usable "$base" || break
  done
fi

# The versions are the name of the folder, so another version never meets old programs.
assets=${KUBEBUILDER_ASSETS:-}
key=$({ cat "$list" "$modules"/*/go.mod; printf '%s' "$assets"; uname -sm; } | cksum | cut -d' ' -f1)
folder=$base/$key
mkdir -p "$folder"

missing() {
  for program; do
    [ -e "$folder/$program" ] || printf '%s\n' "$program"
  done
}

finish() {
  printf '%s\n' "$folder"
  exit 0
}

[ -n "$(missing "$@")" ] || finish

if command -v flock >/dev/null 2>&1; then
  exec 9>"$folder/.lock"
  flock 9
  rm -rf "$folder"/.building.*
fi

# A symbolic link replaces a build.
if [ -n "$assets" ]; then
  for program in etcd kube-apiserver kubectl; do
    if [ -x "$assets/$program" ] && [ ! -x "$folder/$program" ]; then ln -s "$assets/$program" "$folder/$program"; fi
  done
fi

programs=$(missing "$@")
[ -n "$programs" ] || finish
command -v go >/dev/null 2>&1 || fail "go is missing (on Debian: apt-get install golang-go); needed for: $(echo "$programs" | tr '\n' ' ')"

# Go keeps its modules and its build cache below the home folder; where that cannot be written, keep them here.
is_usable "$(go env GOCACHE)" || export GOCACHE="$base/go-build"
is_usable "$(go env GOMODCACHE)" || export GOMODCACHE="$base/go-mod"
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOWORK=off

work=$folder/.building.$$
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$work"

# One build for all programs of a module: they share most of their packages.
for module in etcd kubernetes; do
  wanted= packages=
  for program in $programs; do
    [ "$(origin_of "$program")" = "$module" ] || continue
    wanted="$wanted $program"
    packages="$packages $(package_of "$program")"
  done
  [ -n "$wanted" ] || continue
  say "building$wanted; the first time takes minutes"
  flags="-s -w"
  if [ "$module" = kubernetes ]; then
    version=$(cd "$modules/kubernetes" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
    minor=${version#v1.}
    flags="$flags -X k8s.io/component-base/version.gitVersion=$version"
    flags="$flags -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}"
  fi
  # shellcheck disable=SC2086 -- package names have no spaces
  (cd "$modules/$module" && nice -n 10 go build -trimpath -ldflags "$flags" -o "$work/" $packages >&2)
  # Go names a program after the last folder of its package.
  [ "$module" != etcd ] || mv "$work/server" "$work/etcd"
  for program in $wanted; do mv "$work/$program" "$folder/$program"; done
done

for program in $programs; do
  case $(origin_of "$program") in
    v*) ;;
    *) continue ;;
  esac
  if [ -n "$(file_of "$program")" ]; then
    say "fetching $program"
    module=$(cd "$work" && go mod download -json "$(package_of "$program")@$(origin_of "$program")" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
    cp "$module/$(file_of "$program")" "$work/$program"
    mv "$work/$program" "$folder/$program"
    continue
  fi
  say "building $program"
  package=$(package_of "$program")
  GOBIN=$work nice -n 10 go install -trimpath -ldflags "-s -w" "$package@$(origin_of "$program")" >&2
  mv "$work/${package##*/}" "$folder/$program"
done

finish
