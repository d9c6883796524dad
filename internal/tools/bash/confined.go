package bash

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/sandbox"
)

// Confined is the [Runner] that carries out what was decided in a sandbox. base is read before each
// call and holds what settings say (caches, network, credentials); directories of the call's
// confinement are added to it. notes is told what the sandbox wants people to know, nil: nobody is.
func Confined(box *sandbox.Box, owner *proc.Owner, base func() sandbox.Config, notes func([]string)) Runner {
	plain := Unconfined(owner)
	return func(spec proc.Spec, how tool.Confinement) (Run, error) {
		if how.Level == tool.Unconfined {
			return plain(spec, how)
		}
		cmd, err := box.Start(owner, spec, withConfinement(base(), how))
		if err != nil {
			return Run{}, err
		}
		return Run{Process: cmd.Process, After: func(exit proc.Exit, output string) string {
			report := cmd.Finish(output)
			if notes != nil && len(report.Notes) > 0 {
				notes(report.Notes)
			}
			return violations(report, exit)
		}}, nil
	}
}

func withConfinement(cfg sandbox.Config, how tool.Confinement) sandbox.Config {
	cfg.Write = append(slices.Clone(cfg.Write), how.WriteDirs...)
	cfg.DenyRead = append(slices.Clone(cfg.DenyRead), how.DenyRead...)
	cfg.DenyWrite = append(slices.Clone(cfg.DenyWrite), how.DenyWrite...)
	cfg.ReadOnly = cfg.ReadOnly || how.Level == tool.ReadOnly
	if how.NoNetwork {
		cfg.Network = sandbox.Network{}
	}
	return cfg
}

// violations is the block for the model. After a success only what was put aside is worth telling: a
// program that got along without what was refused needs nothing.
func violations(report sandbox.Report, exit proc.Exit) string {
	report.Notes = nil
	if exit.Code == 0 {
		report.Violations = slices.DeleteFunc(slices.Clone(report.Violations), func(v sandbox.Violation) bool {
			return v.Path == "" || !v.Certain
		})
	}
	text := report.Text()
	if text == "" {
		return ""
	}
	return "<sandbox_violations>\n" + strings.TrimSpace(text) + "\n</sandbox_violations>"
}
