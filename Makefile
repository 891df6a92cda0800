# runonce: one scheduled firing changes the world once.
.DEFAULT_GOAL := help

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

help: ## Print this help
	@grep -hE '^[a-z][a-z-]*:.*?## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "} {printf "  make %-12s %s\n", $$1, $$2}'

demo: ## Run the main job on this machine: duplicates, lost answers, a killed proxy
	@echo "building the stack (the first time takes a minute) ..."
	@go run ./e2e/cmd/stack demo

test: ## Run every test, with the race detector where the C compiler is there
	go test $(RACE) -timeout 15m ./...

check: ## Format, vet and staticcheck
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "gofmt wants to change:"; echo "$$files"; exit 1; fi
	go vet ./...
	go mod verify
	go run $(STATICCHECK) ./...

# The race detector needs cgo; a machine with only Go and make runs the same tests without it.
RACE := $(shell command -v $$(go env CC) >/dev/null 2>&1 && [ "$$(go env CGO_ENABLED)" = 1 ] && echo -race)

.PHONY: help demo test check
