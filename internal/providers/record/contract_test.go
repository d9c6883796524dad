package record_test

import (
	"bytes"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/record"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func TestContractOfARecordedModel(t *testing.T) {
	contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
		s, err := script.Parse("script.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return record.New(&bytes.Buffer{}, record.Options{}).Model(script.New(s, script.Options{}))
	})
}

// TestContractOfAReplay records a few whole answers and plays them.
func TestContractOfAReplay(t *testing.T) {
	contract.Any(t, func(t *testing.T) provider.Model {
		s, err := script.Parse("script.yaml", []byte("turns: [{content: [{thinking: hm}, {text: hello}, {tool: Bash, input: {command: ls}}]}]\nloop: true\n"))
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		m := record.New(&buf, record.Options{}).Model(script.New(s, script.Options{}))
		for range 8 {
			for _, err := range m.Stream(t.Context(), contract.Request()) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		rec, err := record.Parse("recording", buf.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return rec.Model(record.Pace{})
	})
}
