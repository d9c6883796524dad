// Command floor is the least an agent can be: it asks a model over the Anthropic Messages API with
// one tool, runs what the model asks for with sh, and goes on until the model calls no tool. It has
// no features at all and is what the benchmarks measure the program against.
//
//	floor URL PROMPT
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
)

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: floor URL PROMPT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(url, prompt string) error {
	history := []message{{"user", []block{{Type: "text", Text: prompt}}}}
	for {
		answer, err := ask(url, history)
		if err != nil {
			return err
		}
		history = append(history, message{"assistant", answer})
		results := execute(answer)
		if len(results) == 0 {
			for _, b := range answer {
				fmt.Print(b.Text)
			}
			fmt.Println()
			return nil
		}
		history = append(history, message{"user", results})
	}
}

func ask(url string, history []message) ([]block, error) {
	body, err := json.Marshal(map[string]any{
		"model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": true, "messages": history,
		"tools": []any{map[string]any{
			"name": "Bash", "description": "Run a shell command.",
			"input_schema": map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []string{"command"}},
		}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("content-type", "application/json")
	req.Header.Set("x-api-key", "test")
	req.Header.Set("anthropic-version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	var blocks []block
	var text strings.Builder
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e struct {
			Type  string `json:"type"`
			Block block  `json:"content_block"`
			Delta struct {
				Text    string `json:"text"`
				Partial string `json:"partial_json"`
			} `json:"delta"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return nil, err
		}
		switch e.Type {
		case "content_block_start":
			blocks = append(blocks, e.Block)
			text.Reset()
		case "content_block_delta":
			text.WriteString(e.Delta.Text + e.Delta.Partial)
		case "content_block_stop":
			b := &blocks[len(blocks)-1]
			if b.Type == "tool_use" {
				b.Input = json.RawMessage(text.String())
			} else {
				b.Text = text.String()
			}
		}
	}
	return blocks, lines.Err()
}

// execute runs the calls of an answer side by side.
func execute(answer []block) []block {
	var results []block
	for _, b := range answer {
		if b.Type == "tool_use" {
			results = append(results, block{Type: "tool_result", ToolUseID: b.ID, Content: string(b.Input)})
		}
	}
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			var in struct {
				Command string `json:"command"`
			}
			_ = json.Unmarshal([]byte(results[i].Content), &in) // an empty command is what the model asked for then
			out, err := exec.Command("sh", "-c", in.Command).CombinedOutput()
			results[i].Content = string(out)
			if err != nil {
				results[i].Content += err.Error()
			}
			if results[i].Content == "" {
				results[i].Content = "(no output)"
			}
		})
	}
	wg.Wait()
	return results
}
