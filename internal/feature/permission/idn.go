package permission

import "golang.org/x/net/idna"

// toASCII brings a name with other letters than ASCII into its A-label form. A name that has none is
// kept as it is, so that it equals nothing but itself.
func toASCII(h string) string {
	for i := range len(h) {
		if h[i] >= 0x80 {
			if a, err := idna.Lookup.ToASCII(h); err == nil {
				return a
			}
			return h
		}
	}
	return h
}
