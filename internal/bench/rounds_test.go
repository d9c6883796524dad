package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/testkit/rounds"
)

// paced answers with calls of one tool, and keeps how long the program took from the end of each answer to
// the end of the next request.
type paced struct {
	wire  rounds.Wire
	calls func(n int) (tool, input string) // empty: the turn ends
	done  func(n int)                      // after the n-th request came in; nil: nothing

	n     int
	ended time.Time
	took  []time.Duration // by number of the request, from 0
}

func (p *paced) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	if err != nil || r.Method != http.MethodPost || strings.Contains(r.URL.Path, "count") {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if p.took = append(p.took, time.Since(p.ended)); p.done != nil {
		p.done(p.n)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	answer := p.wire.End
	if tool, input := p.calls(p.n); tool != "" {
		answer = p.wire.Call(p.n, tool, input)
	}
	p.n++
	_, _ = io.WriteString(w, answer) // who went away needs no answer
	p.ended = time.Now()
}

// play lets the program take one turn against the server.
func (p *paced) play(b *testing.B, r rig, args ...string) {
	b.Helper()
	h := httptest.NewServer(p)
	defer h.Close()
	cmd, errs := p.command(r, h.URL, args...)
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", p.wire.Name, err, errs)
	}
}

func (p *paced) command(r rig, url string, args ...string) (*exec.Cmd, *strings.Builder) {
	cmd := exec.Command(r.myelin, append([]string{
		"-p", "go", "--model", p.wire.Model, "--settings", `{"sandbox":{"enabled":false},"autoCompactEnabled":false}`,
		"--allowedTools", "Bash,Read,Edit,Grep",
	}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "MYELIN_HOME=" + r.home, "TERM=dumb"}
	for name, value := range p.wire.Env {
		cmd.Env = append(cmd.Env, name+"="+strings.ReplaceAll(value, "URL", url))
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	return cmd, &errs
}

func inMS(took []time.Duration) []float64 {
	out := make([]float64, len(took))
	for i, d := range took {
		out[i] = float64(d) / 1e6
	}
	return out
}

// BenchmarkLateRounds is a tool turn in round 2,000 against one in round 20, on every wire, recorded and not.
func BenchmarkLateRounds(b *testing.B) {
	const last, window = 2000, 30
	r := rigFor(b)
	for _, w := range rounds.Wires() {
		for _, recorded := range []bool{false, true} {
			name := w.Name
			if recorded {
				name += "-recorded"
			}
			b.Run(name, func(b *testing.B) {
				var early, late, ratios []float64
				for b.Loop() {
					p := &paced{wire: w, calls: func(n int) (string, string) {
						if n >= last+window {
							return "", ""
						}
						return "Bash", fmt.Sprintf(`{"command":"true %d"}`, n)
					}}
					var args []string
					if recorded {
						args = []string{"--record", filepath.Join(b.TempDir(), "recording.jsonl")}
					}
					p.play(b, r, args...)
					first, second := median(inMS(p.took[20:20+window])), median(inMS(p.took[last:last+window]))
					early, late, ratios = append(early, first), append(late, second), append(ratios, second/first)
				}
				b.ReportMetric(median(early), "round-20-ms")
				b.ReportMetric(median(late), "round-2000-ms")
				b.ReportMetric(median(ratios), "ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
