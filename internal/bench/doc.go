// Package bench measures the program as a whole against the least possible agent (floor), on the
// loopback fake API server. Figures are told as ratios to the floor, taken in pairs, so that they
// hold when the machine's speed drifts; nothing here passes or fails by the clock. Run it with
// make bench.
package bench
