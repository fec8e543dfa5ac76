#!/bin/sh
# Creates a virtual environment with Python programs for tests, if there is none, and prints the path of a program in it.
#   scripts/python-tools.sh NAME [MODULE]
# The program runs MODULE, or without one the script that it is given.
# From PyPI, in pinned versions with pinned hashes (scripts/NAME/requirements.txt), into a cache outside the repository:
#   PYTHON_TOOLS_DIR, else XDG_CACHE_HOME/slipway/NAME, else HOME/.cache/slipway/NAME, else .tools/NAME
# Packages without a wheel are built with scripts/NAME/build-requirements.txt.
# To move to other versions: change requirements.in, then
#   pip-compile --generate-hashes --no-emit-index-url --strip-extras requirements.in
set -eu

name=$1
module=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/scripts/$name/requirements.txt
build_requirements=$root/scripts/$name/build-requirements.txt

say() { printf '%s\n' "slipway $name: $*" >&2; }
fail() { say "$*"; exit 1; }

command -v python3 >/dev/null 2>&1 || fail "python3 is missing"
python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  fail "python3 is older than 3.10, or has no venv module (on Debian: apt-get install python3-venv)"

is_usable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
base=${PYTHON_TOOLS_DIR:-}
if [ -n "$base" ]; then
  is_usable "$base" || fail "PYTHON_TOOLS_DIR=$base cannot be written"
else
  for base in ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/slipway/$name"} ${HOME:+"$HOME/.cache/slipway/$name"} "$root/.tools/$name"; do
    ! is_usable "$base" || break
  done
fi

# Versions, Python, this script and the module are the name of the folder, so another version never meets old packages.
key=$({ printf '%s\n' "$module"; cat "$root/scripts/python-tools.sh" "$root/scripts/$name/"*requirements.txt; python3 -VV; uname -sm; } | cksum | cut -d" " -f1)
folder=$base/$key
if ! [ -x "$folder/bin/run" ]; then
  say "installing into $folder"
  # Install into a temporary folder and rename it, so that an interruption leaves nothing half done. A virtual environment
  # contains its own path, which is wrong after the rename, so its programs are started through its Python.
  fresh=$(mktemp -d "$base/new.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  python3 -m venv "$fresh/venv"
  install() {
    "$fresh/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
      --require-hashes --only-binary :all: "$@" >&2
  }
  if [ -f "$build_requirements" ]; then
    install -r "$build_requirements"
    install --no-build-isolation -r "$requirements"
  else
    install -r "$requirements"
  fi
  printf '#!/bin/sh\nexec "%s/bin/python" %s"$@"\n' "$folder" "${module:+-m $module }" >"$fresh/venv/bin/run"
  chmod 755 "$fresh/venv/bin/run"
  # Another process may have been faster.
  [ -e "$folder" ] || mv "$fresh/venv" "$folder"
fi
printf '%s\n' "$folder/bin/run"
