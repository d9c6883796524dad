package script_test

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/script"
)

func TestContract(t *testing.T) {
	contract.Played(t, contract.Able{Malformed: true, Status: true}, func(t *testing.T, text string) provider.Model {
		s, err := script.Parse("script.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return script.New(s, script.Options{})
	})
}
