// A module of its own: what it needs at development time must not be linked into the program.
module github.com/myelin-agent/myelin/internal/providers/catalog/generate

go 1.26.7

require charm.land/catwalk v0.52.1

require github.com/charmbracelet/x/etag v0.2.0 // indirect
