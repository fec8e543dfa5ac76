#!/bin/sh
# Creates a virtual environment with Schemathesis for the fuzz test, if there is none, and prints the path of its program.
#   scripts/fuzz-tools.sh
# From PyPI, in pinned versions with pinned hashes (scripts/fuzz-tools/requirements.txt), into a cache outside the repository:
#   FUZZ_TOOLS_DIR, else XDG_CACHE_HOME/slipway/fuzz-tools, else HOME/.cache/slipway/fuzz-tools, else .tools/fuzz-tools
# To move to other versions: change requirements.in, then
#   pip-compile --generate-hashes --no-emit-index-url --strip-extras requirements.in
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/scripts/fuzz-tools/requirements.txt

say() { printf '%s\n' "slipway fuzz-tools: $*" >&2; }
fail() { say "$*"; exit 1; }

command -v python3 >/dev/null 2>&1 || fail "python3 is missing"
python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  fail "python3 is older than 3.10, or has no venv module (on Debian: apt-get install python3-venv)"

is_usable() { mkdir -p "$1" 2>/dev/null && [ -w "$1" ]; }
base=${FUZZ_TOOLS_DIR:-}
if [ -n "$base" ]; then
  is_usable "$base" || fail "FUZZ_TOOLS_DIR=$base cannot be written"
else
  for base in ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME/slipway/fuzz-tools"} ${HOME:+"$HOME/.cache/slipway/fuzz-tools"} "$root/.tools/fuzz-tools"; do
    ! is_usable "$base" || break
  done
fi

# Versions and Python are the name of the folder, so another version never meets old packages.
key=$({ cat "$requirements"; python3 -VV; uname -sm; } | cksum | cut -d' ' -f1)
folder=$base/$key
if ! [ -x "$folder/bin/schemathesis" ]; then
  say "installing Schemathesis into $folder"
  # Install into a temporary folder and rename it, so that an interruption leaves nothing half done. A virtual environment
  # contains its own path, which is wrong after the rename, so its programs are started through its Python.
  fresh=$(mktemp -d "$base/new.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  python3 -m venv "$fresh/venv"
  "$fresh/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir \
    --require-hashes --only-binary :all: -r "$requirements" >&2
  printf '#!/bin/sh\nexec "%s/bin/python" -m schemathesis.cli "$@"\n' "$folder" >"$fresh/venv/bin/schemathesis"
  chmod 755 "$fresh/venv/bin/schemathesis"
  # Another process may have been faster.
  [ -e "$folder" ] || mv "$fresh/venv" "$folder"
fi
printf '%s\n' "$folder/bin/schemathesis"
