package offline_test

import (
	"testing"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/contract"
	"github.com/myelin-agent/myelin/internal/providers/offline"
)

func TestContract(t *testing.T) {
	contract.Any(t, func(*testing.T) provider.Model { return offline.New() })
}
