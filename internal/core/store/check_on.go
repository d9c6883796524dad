//go:build storecheck

package store

// checked turns on the search for values that were changed in place.
const checked = true
