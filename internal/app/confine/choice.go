package confine

import (
	"github.com/myelin-agent/myelin/internal/feature/config"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// choice is what the settings choose of the sandbox as a whole: whether there is one, and of which kind.
type choice struct{ *Scene }

// Wanted is the setting sandbox.enabled: "on" at any level, "off", or "auto".
func (o choice) Wanted() string {
	state := o.Config()
	if v, _, ok := config.Value[bool](state, "sandbox.enabled"); ok {
		return map[bool]string{true: "on", false: "off"}[v]
	}
	if setting(state, "sandbox.enabled", "auto") != "auto" || o.DropIn {
		return "off"
	}
	return "auto"
}

// engine is the container engine that the settings choose; nil: none.
func (o choice) engine() *sandbox.Engine {
	backend := setting(o.Config(), "sandbox.backend", "auto")
	if backend == "auto" {
		return nil
	}
	return &sandbox.Engine{Program: backend, Image: setting(o.Config(), "sandbox.image", "")}
}

func (o choice) weaker() bool {
	return setting(o.Config(), "sandbox.enableWeakerNestedSandbox", false)
}
