# price.sh: what a basket costs, in cents.

# total PIECES PRICE prints the sum. From ten pieces on a tenth of it is taken off.
total() {
	sum=$(($1 * $2))
	if [ "$1" -gt 10 ]; then
		sum=$((sum - sum / 10))
	fi
	echo "$sum"
}
