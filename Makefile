# runonce: one scheduled firing changes the world once.
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The race detector needs cgo; a machine with only Go and make runs the same tests without it.
RACE := $(shell command -v $$(go env CC) >/dev/null 2>&1 && [ "$$(go env CGO_ENABLED)" = 1 ] && echo -race)

help: ## Print this help
	@grep -hE '^[a-z][a-z-]*:.*?## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "} {printf "  make %-12s %s\n", $$1, $$2}'

demo: ## Run the main job on this machine: duplicates, lost answers, a killed proxy
	@echo "building the stack (the first time takes a minute) ..."
	@go run ./e2e/cmd/stack demo

test: ## Run every test, with the race detector where the C compiler is there
	go test $(RACE) -timeout 15m ./...

check: ## Format, vet, staticcheck, and that go.mod is tidy
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt wants to change:"; echo "$$files"; exit 1; fi
	go vet ./...
	go mod tidy -diff
	go run $(STATICCHECK) ./...

mutants: ## Remove each guard of the protocol in turn: a test must turn red
	RUNONCE_MUTANTS=all go test ./e2e -run TestMutants -v -timeout 30m

model: ## Explore more interleavings of the real guard than make test does
	RUNONCE_MODEL_DEPTH=2 go test ./functions/guard/guardtest/model -v -timeout 60m

copy-guard: ## Copy the step guard into your module: make copy-guard DEST=../shop/internal/guard
	@test -n "$(DEST)" || { echo "say where: make copy-guard DEST=../shop/internal/guard"; exit 2; }
	@test ! -e "$(DEST)" || { echo "$(DEST) is there already; remove it first, nothing was copied"; exit 2; }
	@mkdir -p "$(DEST)" && cp functions/guard/*.go "$(DEST)" && { [ ! -d functions/guard/testdata ] || cp -r functions/guard/testdata "$(DEST)"; }
	@echo "copied to $(DEST)"
	@echo "in that module: go get cloud.google.com/go/firestore && go mod tidy && go test ./..."
	@echo "then import it by its own path and call guard.Do, guard.Write, guard.Tx or guard.Handler"

module-path: ## Rename the module: make module-path NEWPATH=github.com/you/runonce
	@test -n "$(NEWPATH)" || { echo "say the new path: make module-path NEWPATH=github.com/you/runonce"; exit 2; }
	@old=$$(go list -m); grep -rl --include='*.go' --include=go.mod --include='*.md' "$$old" . | while read -r f; do \
		sed "s#$$old#$(NEWPATH)#g" "$$f" > "$$f.new" && cat "$$f.new" > "$$f" && rm "$$f.new"; done; echo "$$old is now $(NEWPATH)"

.PHONY: help demo test check mutants model copy-guard module-path
