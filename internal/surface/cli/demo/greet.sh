# greet NAME: prints a greeting, "stranger" when no name is given.
greet() {
	name=$1
	echo "Hello, $nmae!"
}
