// Command immutable runs the analyzer of that name under go vet:
//
//	go build -o bin/immutable ./internal/lint/cmd/immutable
//	go vet -vettool=bin/immutable ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/myelin-agent/myelin/internal/lint/immutable"
)

func main() { unitchecker.Main(immutable.Analyzer) }
