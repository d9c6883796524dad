# Run with: sh test.sh
. ./greet.sh

fails=0

check() {
	if [ "$2" = "$3" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: want \"$3\", got \"$2\""
		fails=$((fails + 1))
	fi
}

check "greets by name" "$(greet Ada)" "Hello, Ada!"
check "greets a stranger" "$(greet)" "Hello, stranger!"

[ "$fails" -eq 0 ]
