# test.sh: tests price.sh. Needs nothing but a POSIX shell: sh ./test.sh

. ./price.sh

passed=0
failed=0

# check NAME WANTED FOUND
check() {
	if [ "$2" = "$3" ]; then
		echo "ok    $1"
		passed=$((passed + 1))
	else
		echo "FAIL  $1: wanted $2, found $3"
		failed=$((failed + 1))
	fi
}

check "one piece costs its price" 250 "$(total 1 250)"
check "nine pieces have no rebate" 2250 "$(total 9 250)"
check "ten pieces have a rebate" 2250 "$(total 10 250)"
check "twenty pieces have a rebate" 4500 "$(total 20 250)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
