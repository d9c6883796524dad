package bench

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
)

// rig holds the two programs and a place to run them in.
type rig struct {
	myelin, floor, dir, home string
}

var build = sync.OnceValues(func() (rig, error) {
	dir, err := os.MkdirTemp("", "myelin-bench-")
	if err != nil {
		return rig{}, err
	}
	r := rig{myelin: filepath.Join(dir, "myelin"), floor: filepath.Join(dir, "floor"), dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home")}
	for _, d := range []string{r.dir, r.home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return r, err
		}
	}
	for bin, pkg := range map[string]string{r.myelin: "../../cmd/myelin", r.floor: "./floor"} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return r, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return r, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if r, err := build(); err == nil {
		_ = os.RemoveAll(filepath.Dir(r.myelin)) // a temporary folder
	}
	os.Exit(code)
}

// run runs a program and returns how long it took.
func (r rig) run(b *testing.B, url, bin string, args ...string) time.Duration {
	b.Helper()
	cmd, errs := r.command(url, bin, args...)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %v: %v\n%s", filepath.Base(bin), args, err, errs.String())
	}
	return time.Since(start)
}

// peak runs a program and reports the most memory it held, as the kernel tells it while it runs: what it
// tells afterwards counts this process in. The last look may miss what came within a millisecond.
func (r rig) peak(b *testing.B, url, bin string, args ...string) {
	b.Helper()
	cmd, errs := r.command(url, bin, args...)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	most := 0.0
	for tick := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-ended:
			tick.Stop()
			if err != nil {
				b.Fatalf("%s %v: %v\n%s", filepath.Base(bin), args, err, errs.String())
			}
			b.ReportMetric(most/1024, "peak-MiB")
			return
		case <-tick.C:
			raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // gone: the end comes next
			_, after, _ := strings.Cut(string(raw), "VmHWM:")
			var kib float64
			if _, err := fmt.Sscan(after, &kib); err == nil {
				most = max(most, kib)
			}
		}
	}
}

func (r rig) command(url, bin string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(bin, args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "MYELIN_HOME=" + r.home, "ANTHROPIC_API_KEY=test",
		"ANTHROPIC_BASE_URL=" + url, "TERM=dumb",
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	return cmd, &errs
}

// prompt are the arguments of one turn.
func prompt() []string {
	return []string{"-p", "go", "--model", "anthropic/claude-sonnet-4-5", "--settings", `{"sandbox":{"enabled":false}}`, "--allowedTools", "Bash"}
}

// asMyelin and asFloor run one turn in either program.
func (r rig) asMyelin(b *testing.B, url string) time.Duration {
	return r.run(b, url, r.myelin, prompt()...)
}

func (r rig) asFloor(b *testing.B, url string) time.Duration {
	return r.run(b, url, r.floor, url, "go")
}

// serve plays a script over HTTP, again and again.
func serve(b *testing.B, text string) string {
	b.Helper()
	s, err := script.Parse("bench.yaml", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	server, err := fakeapi.New(fakeapi.Config{API: fakeapi.Anthropic, Script: s, Fast: true})
	if err != nil {
		b.Fatal(err)
	}
	h := httptest.NewServer(server)
	b.Cleanup(h.Close)
	return h.URL
}

// pairs runs both programs in turn and reports medians: the floor's time, ours, the ratio pair by
// pair and what ours takes more.
func pairs(b *testing.B, r rig, text string) (ours, floors []time.Duration) {
	b.Helper()
	url := serve(b, text)
	r.asFloor(b, url)
	r.asMyelin(b, url)
	for b.Loop() {
		floors = append(floors, r.asFloor(b, url))
		ours = append(ours, r.asMyelin(b, url))
	}
	var ratios, more, f, o []float64
	for i := range ours {
		ratios = append(ratios, float64(ours[i])/float64(floors[i]))
		more = append(more, float64(ours[i]-floors[i])/1e6)
		f = append(f, float64(floors[i])/1e6)
		o = append(o, float64(ours[i])/1e6)
	}
	b.ReportMetric(median(f), "floor-ms")
	b.ReportMetric(median(o), "ms")
	b.ReportMetric(median(ratios), "×floor")
	b.ReportMetric(median(more), "more-ms")
	r.peak(b, url, r.myelin, prompt()...)
	b.ReportMetric(0, "ns/op") // means nothing here
	return ours, floors
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

func turns(n int, content, last string) string {
	return "loop: true\nturns:\n" + strings.Repeat("  - content: ["+content+"]\n", n) + "  - content: [" + last + "]\n"
}

func rigFor(b *testing.B) rig {
	b.Helper()
	r, err := build()
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkHello is one turn without tools.
func BenchmarkHello(b *testing.B) {
	pairs(b, rigFor(b), turns(0, "", `{text: "Hello."}`))
}

// BenchmarkToolTurns is fifty turns of the shell command true.
func BenchmarkToolTurns(b *testing.B) {
	ours, floors := pairs(b, rigFor(b), turns(50, `{tool: Bash, input: {command: "true"}}`, `{text: "Done."}`))
	var more []float64
	for i := range ours {
		more = append(more, float64(ours[i]-floors[i])/1e6/50)
	}
	b.ReportMetric(median(more), "more-ms/turn")
}

// BenchmarkDeltas is one answer of 20,000 pieces.
func BenchmarkDeltas(b *testing.B) {
	text := strings.Repeat("word ", 20_000)
	ours, floors := pairs(b, rigFor(b), "loop: true\nturns:\n  - chunk: 5\n    content: [{text: \""+text+"\"}]\n")
	var rate []float64
	for i := range ours {
		rate = append(rate, float64(floors[i])/float64(ours[i]))
	}
	b.ReportMetric(median(rate), "×floor-tokens/s")
}

// BenchmarkParallelSleep is eight calls of sleep 0.2 in one answer.
func BenchmarkParallelSleep(b *testing.B) {
	calls := strings.TrimSuffix(strings.Repeat(`{tool: Bash, input: {command: "sleep 0.2"}}, `, 8), ", ")
	pairs(b, rigFor(b), turns(1, calls, `{text: "Done."}`))
}

// BenchmarkEightSessions is eight sessions at once, each of ten turns, against the floor doing the same,
// and against one floor alone.
func BenchmarkEightSessions(b *testing.B) {
	r := rigFor(b)
	one := turns(10, `{tool: Bash, input: {command: "true"}}`, `{text: "Done."}`)
	var urls []string
	for range 8 {
		urls = append(urls, serve(b, one))
	}
	atOnce := func(run func(url string)) time.Duration {
		start := time.Now()
		var wg sync.WaitGroup
		for _, url := range urls {
			wg.Go(func() { run(url) })
		}
		wg.Wait()
		return time.Since(start)
	}
	floor := func(url string) { r.asFloor(b, url) }
	ours := func(url string) { r.asMyelin(b, url) }
	atOnce(floor)
	atOnce(ours)
	var ratios, alone []float64
	for b.Loop() {
		start := time.Now()
		floor(urls[0])
		single := time.Since(start)
		least := atOnce(floor)
		took := atOnce(ours)
		ratios = append(ratios, float64(took)/float64(least))
		alone = append(alone, float64(took)/float64(single))
	}
	b.ReportMetric(median(ratios), "×floor")
	b.ReportMetric(median(alone), "×one-floor")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkVersion is what every start costs.
func BenchmarkVersion(b *testing.B) {
	r := rigFor(b)
	var wall []float64
	for range 20 {
		wall = append(wall, float64(r.run(b, "", r.myelin, "--version"))/1e6)
	}
	for b.Loop() {
		r.run(b, "", r.myelin, "--version")
	}
	b.ReportMetric(median(wall), "ms")
	if info, err := os.Stat(r.myelin); err == nil {
		b.ReportMetric(float64(info.Size())/(1<<20), "binary-MiB")
	}
	b.ReportMetric(0, "ns/op")
}
