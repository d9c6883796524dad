// A module of its own: its tests install a model and take minutes; make test-model runs them alone.
module github.com/myelin-agent/myelin/internal/conformance/realmodel

go 1.26.7
