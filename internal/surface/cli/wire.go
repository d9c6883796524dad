package cli

// Wired are the functions of this program's own parts.
func Wired() Deps {
	return Deps{}
}
