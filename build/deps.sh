#!/bin/sh
# Installs what the tests need from Debian's packages: build/deps.sh PACKAGE...
# Does nothing for what is there already, be it from elsewhere. Without root it tries sudo -n, else says what to run.
set -eu
missing=""
for p in "$@"; do
	command -v "$p" >/dev/null || dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
run=""
if [ "$(id -u)" != 0 ]; then
	if ! sudo -n true 2>/dev/null; then
		echo "The tests need packages that are not installed. Run: sudo apt-get install -y$missing" >&2
		exit 1
	fi
	run="sudo -n"
fi
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086 # a list of names
$run apt-get install -y -qq --no-install-recommends $missing >/dev/null
