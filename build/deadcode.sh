#!/bin/sh
# Fails for functions that the program can reach on no system it is built for. $1 is the tool
# (golang.org/x/tools/cmd/deadcode). What exists for tests is passed over, and what waits for the rooms
# that will use it (internal/sys/frontmatter).
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for os in linux darwin windows; do
	GOOS=$os CGO_ENABLED=0 "$1" ./cmd/myelin ./internal/... >"$out/all"
	sed 's/:[0-9]*:[0-9]*: / /' "$out/all" | sort -u >"$out/$os"
done
dead=$(comm -12 "$out/linux" "$out/darwin" | comm -12 - "$out/windows" |
	sed -e '/^internal\/testkit\//d' -e '/^internal\/providers\/contract\//d' -e '/^internal\/sys\/frontmatter\//d')
[ -z "$dead" ] || { echo "code that nothing runs:"; echo "$dead"; exit 1; }
