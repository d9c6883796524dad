package fakeapi

import (
	"fmt"
	"os"
	"slices"

	"github.com/myelin-agent/myelin/internal/providers/script"
)

// Load reads a script file and makes the configuration that serves it over one of the [APIs].
func Load(file, api string) (Config, error) {
	if !slices.Contains(APIs(), API(api)) {
		return Config{}, fmt.Errorf("fake API: --api %s: expected one of %v", api, APIs())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return Config{}, fmt.Errorf("read script: %w", err)
	}
	s, err := script.Parse(file, data)
	return Config{API: API(api), Script: s}, err
}
