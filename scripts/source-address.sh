#!/bin/sh
# Prints the address of this repository as a URI without the name and the token of a user, for what is published; unknown without
# a remote.
set -eu
address=$(git config --get remote.origin.url) || address=unknown
# git@HOST:PATH is an address of ssh.
printf '%s\n' "$address" | sed -E 's|^([a-z+]+://)[^/]*@|\1|; /:\/\//!s|^([^/]*@)?([^/:]+):/?(.*)$|ssh://\2/\3|'
