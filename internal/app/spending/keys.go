package spending

import "github.com/myelin-agent/myelin/internal/feature/config"

// Keys declares the settings that bound what is used.
func Keys() []config.Section {
	var keys []string
	for _, b := range budgetKeys() {
		keys = append(keys, b.name)
	}
	return config.Used("app/spending", keys...)
}
