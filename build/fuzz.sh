#!/bin/sh
# Runs every fuzz target for a few seconds, then random commands against the real programs for ten minutes: a quarter of an hour.
# What fails is kept: as an input below testdata/fuzz of its package, or as a seed of the oracle.
# build/fuzz.sh [SECONDS-A-TARGET [MINUTES-OF-RANDOM-COMMANDS]]
set -u
each=${1:-4}
random=${2:-10}
failed=""
targets=$(grep -rn --include='*_test.go' '^func Fuzz' internal | grep -v '^internal/conformance/' | sed 's/^\([^:]*\)\/[^/:]*:[0-9]*:func \(Fuzz[A-Za-z0-9_]*\).*/\1 \2/' | sort)
while read -r dir name; do
	echo "$dir $name"
	go test "./$dir" -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -fuzzminimizetime 1s >/tmp/fuzz.$$ 2>&1 || {
		failed="$failed $dir/$name"
		tail -n 20 /tmp/fuzz.$$
	}
done <<END
$targets
END
rm -f /tmp/fuzz.$$
go test ./internal/feature/permission/oracle -run 'TestRandomCommands$' -oracle.time "${random}m" -timeout "$((random + 5))m" -v || failed="$failed random-commands"
[ -z "$failed" ] || {
	echo "failed:$failed" >&2
	exit 1
}
