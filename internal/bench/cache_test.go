package bench

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/providers/script"
	"github.com/myelin-agent/myelin/internal/surface/fakeapi"
	"github.com/myelin-agent/myelin/internal/testkit/promptcache"
)

// BenchmarkCache is what fifty rounds, in the fifth of which a tool is loaded, read from the service's prompt
// cache by its public rules, and what they cost against sending everything as input.
func BenchmarkCache(b *testing.B) {
	r := rigFor(b)
	for _, w := range []struct {
		api  fakeapi.API
		env  []string
		arg  string
		bill func([][]byte) (promptcache.Bill, error)
		must float64 // least share
	}{
		{fakeapi.Anthropic, []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=@"}, "anthropic/claude-sonnet-4-5", promptcache.Anthropic, 0.97},
		{fakeapi.OpenAIResponses, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=@/v1", "MYELIN_OPENAI_API=responses"}, "openai/gpt-5.6-sol", promptcache.Prefix, 0.97},
		{fakeapi.OpenAIChat, []string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=@/v1"}, "openai/gpt-5", promptcache.Prefix, 0},
		{fakeapi.Gemini, []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=@"}, "gemini/gemini-2.5-pro", promptcache.Prefix, 0},
	} {
		b.Run(string(w.api), func(b *testing.B) {
			turns := "turns:\n"
			for n := range 50 {
				call := fmt.Sprintf(`{tool: Bash, input: {command: "true %d"}}`, n)
				if n == 5 {
					call = `{tool: ToolSearch, input: {query: "select:WebFetch"}}`
				}
				turns += "  - content: [" + call + "]\n"
			}
			s, err := script.Parse("cache.yaml", []byte(turns+"  - content: [{text: done}]\n"))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				server, err := fakeapi.New(fakeapi.Config{API: w.api, Script: s, Fast: true})
				if err != nil {
					b.Fatal(err)
				}
				h := httptest.NewServer(server)
				cmd := exec.Command(r.myelin, "-p", "go on", "--model", w.arg, "--settings", `{"sandbox":{"enabled":false}}`, "--allowedTools", "Bash")
				cmd.Dir = r.dir
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "MYELIN_HOME=" + r.home, "TERM=dumb"}
				for _, v := range w.env {
					cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "@", h.URL))
				}
				out, err := cmd.CombinedOutput()
				h.Close()
				if err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				var bodies [][]byte
				for _, q := range server.Requests() {
					if strings.Contains(string(q.Body), `"tools"`) {
						bodies = append(bodies, q.Body)
					}
				}
				bill, err := w.bill(bodies)
				if err != nil || len(bodies) < 51 || bill.Share() < w.must {
					b.Fatalf("%d requests, %.1f %% read from the cache, want %.0f: %v", len(bodies), 100*bill.Share(), 100*w.must, err)
				}
				b.ReportMetric(100*bill.Share(), "read-%")
				b.ReportMetric(bill.Price(), "price")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
