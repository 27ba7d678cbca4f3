# Everything runs over the whole workspace: "work" means every module of go.work. At the root ./... would mean the core alone.

STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
CROSS       ?= darwin windows
BENCH       ?= .
FUZZTIME    ?= 10s
SEEDS       ?= 100000
SEED        ?=
ARGS        ?=

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: packages
packages: ## Install what the tests use and this machine lacks
	@.ci/packages

# How many packages are tested at a time: one more than there are processors, because many tests wait for time to pass.
JOBS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2) + 1 )))

.PHONY: test
test: packages ## Run all tests (HOLDFAST_TEST_REQUIRE=all: a skipped test is a failure; ARGS: more flags for go test)
	go run ./internal/testrun -timeout=15m -p=$(JOBS) $(ARGS) work

.PHONY: race
race: ## Run the tests, shortened, under the race detector
	@.ci/packages race
	go run ./internal/testrun -race -short -timeout=15m -p=$(JOBS) $(ARGS) work

# Where npm installs the peers in JavaScript. What begins with a dot is not read by internal/tidy, nor by the go command.
PEERS = .cache/interop

# Without npm, or without a network, the tests say what is missing: they skip it, or fail where all is required.
$(PEERS)/installed: interop/peers/node/package.json interop/peers/node/package-lock.json
	@.ci/packages interop
	@mkdir -p $(PEERS) && cp $^ $(PEERS)
	@(cd $(PEERS) && npm ci --ignore-scripts --no-audit --no-fund) && touch $@ || echo "the npm packages of $^ could not be installed" >&2

.PHONY: interop
interop: $(PEERS)/installed ## Run the tests with other libraries on the same locks: redsync, node-redlock, redis-py, bsm/redislock
	@.ci/packages interop
	HOLDFAST_INTEROP='$(CURDIR)/$(PEERS)' go run ./internal/testrun -count=1 -timeout=15m $(ARGS) ./interop/...

.PHONY: lint
lint: lint-format lint-vet lint-static lint-cross lint-modules ## Check format, vet, staticcheck, other systems and the modules

.PHONY: lint-format
lint-format:
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted, run gofmt -w on:"; echo "$$files"; exit 1; fi

.PHONY: lint-vet
lint-vet:
	go vet work

.PHONY: lint-static
lint-static:
	go run $(STATICCHECK) work

# Tests too must build elsewhere, so vet and not build.
.PHONY: lint-cross
lint-cross:
	@set -e; for system in $(CROSS); do echo "GOOS=$$system go vet work"; GOOS=$$system go vet work; done

# The workspace hides a require line that is missing from a module: here each stands alone.
.PHONY: lint-modules
lint-modules:
	@set -e; dirs=$$(go list -m -f '{{.Dir}}'); for dir in $$dirs; do \
		echo "in .$${dir#"$(CURDIR)"}: GOWORK=off go mod tidy -diff, GOWORK=off go vet ./..."; \
		(cd "$$dir" && GOWORK=off go mod tidy -diff && GOWORK=off go vet ./...); \
	done

.PHONY: bench
bench: ## Run the benchmarks (BENCH=regexp)
	go test -run='^$$' -bench='$(BENCH)' -benchmem $(ARGS) work

.PHONY: bench-run
bench-run: ## Measure holdfast run against flock(1): how many times as long it takes
	go run ./cmd/holdfast/bench $(ARGS)

GUARDS = guard-solo,guard-crowd,guard-strangers,guard-solo-replica,guard-crowd-replica,guard-strangers-replica

.PHONY: bench-redis
bench-redis: ## Measure locks on Redis: ours, others, and what round trips allow (ARGS: see go run ./bench -h)
	go run ./bench $(ARGS)

.PHONY: bench-guard
bench-guard: ## Measure what the guard costs on Redis: throughput with it by that without
	go run ./bench -scenarios $(GUARDS) -runs 60 -for 500ms -warm 100ms $(ARGS)

.PHONY: bench-failover
bench-failover: ## Measure how long locks on Redis cannot be had when the primary goes away (ARGS: see go run ./bench/failover -h)
	go run ./bench/failover $(ARGS)

.PHONY: bench-redlock
bench-redlock: ## Measure locks in a majority of Redis servers: ours and redsync (ARGS: see go run ./bench/redlock -h)
	go run ./bench/redlock $(ARGS)

.PHONY: hammer
hammer: ## Let 500 processes hammer one lock of a directory for a minute; then a storm of kills and stops
	go test ./filelock -count=1 -v -timeout=15m -run='^TestHammer$$' -hammer.for=1m $(ARGS)
	go test ./filelock -count=1 -v -timeout=15m -run='^TestStorm$$' -storm.for=40s $(ARGS)

.PHONY: fuzz
fuzz: ## Fuzz every fuzz test for a short while (FUZZTIME=10s each)
	@set -e; found=$$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func /:/'); \
	for each in $$found; do \
		dir=$$(dirname "$${each%%:*}"); name=$${each##*:}; echo "$$dir: $$name for $(FUZZTIME)"; \
		(cd "$$dir" && go test -run='^$$' -fuzz="^$$name\$$" -fuzztime=$(FUZZTIME) .); \
	done

.PHONY: sim
sim: ## Run the simulation with many seeds (SEEDS=100000), or replay one (SEED=n)
	go test -count=1 -timeout=0 -run='^TestSimulation$$' . $(if $(SEED),-v -sim.seed=$(SEED),-sim.seeds=$(SEEDS)) $(ARGS)

# A program that was built once, because it starts itself again for each worker process.
TORTURE = build/holdfast torture
BUNDLE  ?= build/torture
STORES  ?= all
FOR     ?= 10m

.PHONY: torture-program
torture-program:
	@.ci/packages
	go build -buildvcs=auto -o build/holdfast ./cmd/holdfast

.PHONY: torture
torture: torture-program ## Torture each store for ten minutes, into a bundle (STORES=redis FOR=1h BUNDLE=dir ARGS=…)
	$(TORTURE) controls
	$(TORTURE) --store $(STORES) --duration $(FOR) --into '$(BUNDLE)' --html '$(BUNDLE).html' $(ARGS)

# What happens to nodes of a majority, and to what they say.
VOTES = server-forget,forget-in-turn,forget-majority,partition-node,partition-majority,late-reply,late-request,function-loss

.PHONY: torture-short
torture-short: torture-program ## The torture of each change, three minutes in all
	$(TORTURE) controls --seeds 2 --parallel 3
	$(TORTURE) --store memory,file --duration 10s
	$(TORTURE) --store redis --duration 20s
	$(TORTURE) --store redis-sentinel --faults failover,failover-cut,failover-twice,old-isolated,old-returns,function-loss --duration 20s
	$(TORTURE) --store redlock-3 --faults $(VOTES) --duration 20s

.PHONY: soak
soak: torture-program ## Torture until it is stopped by ^C, into a bundle that grows
	$(TORTURE) --store $(STORES) --duration 0 --into '$(BUNDLE)' --html '$(BUNDLE).html' $(ARGS)
