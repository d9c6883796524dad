// Command faults tries the patches of testdata/faults: each takes one guard out of the program, and
// some test must fail for it. See internal/lint/faults.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/lint/faults"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	share := flag.Int("share", 1, "try one of so many faults, chosen by the seed")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "chooses the faults to try")
	workers := flag.Int("workers", 2, "faults tried beside each other")
	only := flag.String("only", "", "try the faults whose name holds this")
	flag.Parse()
	all, err := faults.Load("testdata/faults")
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(f faults.Fault) bool { return !strings.Contains(f.Name, *only) })
	if *share > 1 {
		fmt.Printf("faults: one in %d, seed %d\n", *share, *seed)
		r := rand.New(rand.NewPCG(*seed, 0))
		r.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:(len(chosen)+*share-1) / *share]
	}
	if len(chosen) == 0 {
		return fmt.Errorf("there is no fault to try")
	}
	begin, alive, tried := time.Now(), 0, 0
	err = faults.Run(ctx, ".", chosen, *workers, func(o faults.Outcome) {
		tried++
		if o.Problem != "" {
			alive++
			fmt.Printf("ALIVE  %-36s %4.1f s  %s\n       %s\n", o.Fault.Name, o.Seconds, o.Fault.Guard, o.Problem)
			return
		}
		fmt.Printf("killed %-36s %4.1f s  by %s\n", o.Fault.Name, o.Seconds, o.Killer)
	})
	fmt.Printf("faults: %d of %d tried, %d alive, %.0f s\n", tried, len(all), alive, time.Since(begin).Seconds())
	if err == nil && alive > 0 {
		err = fmt.Errorf("%d guards can be taken out without a test that fails", alive)
	}
	return err
}
