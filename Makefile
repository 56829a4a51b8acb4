# What people and CI run. `make` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := bin/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOTESTSUM_VERSION := v1.13.0
export GOTESTSUM := $(CURDIR)/bin/gotestsum-$(GOTESTSUM_VERSION)

# CI runs a test again that fails, and leaves reports of that in the directory RERUNS.
ifdef RERUNS
export RERUNS
GO_TEST := $(CURDIR)/.ci/gotest
test race test-integration stores mermaid typescript: $(GOTESTSUM)
else
GO_TEST := go test
endif

# Packages whose goroutines meet; the rest, the planner itself and its pools among them, is pure. The simulation's run one at a
# time: a few of its seeds are enough. Folding golden journals is one goroutine's work, and measuring
# every workload is too much for a race detector, and megabytes and torn writes of stores are one goroutine's: `make test` does all.
RACE_PACKAGES ?= $$(go list ./internal/... ./services/... ./sdk/... ./cmd/... ./examples/... | grep -vE '/(services/planner(/pool)?|internal/lint)$$')
# In a bubble of virtual time whoever waits for a mutex stops the clock. kgo's tag
# makes its mutexes ones that do not: it holds one while it asks a broker.
# Tests make much garbage and are soon over: to collect it less often saves a third of their time.
TEST := GOGC=400 $(GO_TEST) -tags synctests
FUZZ_TIME ?= 60s
TORTURE_FLAGS ?=
SEEDS ?= 350
RACE_SEEDS ?= 12
BASE ?=
TURNS ?= 5
KAFKA ?=
BROKERS ?=
COMPARE_FLAGS ?=
PEERS ?=
PEERS_FLAGS ?=
SIM_SEED ?= 1
SIM_SEEDS ?= 2000
SIM_BROKER_SEEDS ?= 300
SIM_LONG_SEEDS ?= 200000
SIM_CLUSTER ?= model

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/heddle, static
	CGO_ENABLED=0 go build -trimpath -o bin/heddle ./cmd/heddle

.PHONY: build-sim
build-sim: ## build bin/heddle-sim, with the switches that its faults need
	CGO_ENABLED=0 go build -tags synctests -trimpath -o bin/heddle-sim ./cmd/heddle-sim

.PHONY: image
image: build ## build the Docker image heddle:dev; compose.yaml runs it
	docker build -t heddle:dev .

.PHONY: demo
demo: ## run the order-fulfilment demo: no Docker, no Kafka
	go run ./cmd/heddle demo

.PHONY: test
test: ## run all tests that need nothing but Go
	$(TEST) ./...
	cd bench/peers && $(GO_TEST) ./...

.PHONY: race
race: ## run the tests of everything concurrent under the race detector
	HEDDLE_SEEDS=$(RACE_SEEDS) $(TEST) -race -timeout 10m -skip 'Golden|AnApplyThatChangedIsNamed|EveryWorkloadIsMeasured|Conformance/(Limits|LoadInParts|Torn)' $(RACE_PACKAGES)
	$(TEST) -race ./test/sim -run TestSeedsComeToRest -seeds 4

.PHONY: test-integration
test-integration: ## run the end-to-end scenarios against Apache Kafka in Docker
	$(GO_TEST) -tags integration -count 1 -timeout 20m -parallel 3 -v ./test/integration/...

.PHONY: takeover
takeover: ## kill a planner under load over Apache Kafka in Docker, and print what became of its partitions, with times
	HEDDLE_WAITING=200000 go test -tags integration -count 1 -timeout 10m -v -run TestAnotherPlannerTakesOver ./test/integration | grep -E 'TIMELINE|TAKEOVER|^(---|ok|FAIL|panic)'

.PHONY: stores
stores: ## hold every adapter of sdk/store and sdk/executor to its contract, those of PostgreSQL (Debian: postgresql) too
	HEDDLE_POSTGRES=required $(TEST) -count 1 ./sdk/store/... ./sdk/storetest ./sdk/executor/... ./sdk/executortest

.PHONY: long-map
long-map: ## kill the planner in the middle of a map of 100,000 elements, and send it commands there
	HEDDLE_LONG=1 $(TEST) -count 1 -timeout 20m -v -run 'LongMap|AMapOfManyElementsIsFlat' ./cmd/heddle ./services/planner

.PHONY: budgets
budgets: ## count what each workload costs per step, and compare it with test/budget/budget.yaml
	$(TEST),budgets -count 1 -v ./test/budget

.PHONY: budgets-write
budgets-write: ## write these counts into test/budget/budget.yaml
	$(TEST),budgets -count 1 -v -run EveryWorkload ./test/budget -write-budget

.PHONY: mermaid
mermaid: test/mermaid/node_modules ## install Mermaid from npm, and hold what is drawn against it
	HEDDLE_MERMAID=required $(GO_TEST) -count 1 ./test/mermaid

test/mermaid/node_modules: test/mermaid/package-lock.json
	cd test/mermaid && npm ci --no-audit --no-fund
	touch $@

.PHONY: typescript
typescript: sdk/typescript/node_modules examples/images/typescript/node_modules test/typescript/node/node_modules ## install the TypeScript compiler from npm, build the TypeScript SDK, hold it against the runner protocol, and kill examples/images
	HEDDLE_TYPESCRIPT=required $(GO_TEST) -count 1 -v ./test/typescript

sdk/typescript/node_modules examples/images/typescript/node_modules test/typescript/node/node_modules: %/node_modules: %/package-lock.json
	cd $* && npm ci --no-audit --no-fund
	touch $@

.PHONY: seeds
seeds: ## run the crash-equivalence tests with SEEDS seeds each (thirteen tests)
	HEDDLE_SEEDS=$(SEEDS) $(TEST) -count 1 -timeout 60m -run Equivalence ./internal/partition
	HEDDLE_SEEDS=$(SEEDS) $(TEST) -count 1 -timeout 60m ./test/equivalence

.PHONY: sim
sim: build-sim ## simulate planner clusters with faults: SIM_SEEDS seeds from SIM_SEED on, and SIM_BROKER_SEEDS over the embedded broker
	bin/heddle-sim --seed $(SIM_SEED) --seeds $(SIM_SEEDS)
	bin/heddle-sim --seed $(SIM_SEED) --seeds $(SIM_BROKER_SEEDS) --cluster embedded

.PHONY: sim-long
sim-long: build-sim ## the same for hours: SIM_LONG_SEEDS seeds; go on with SIM_SEED=N; SIM_CLUSTER=embedded for the broker
	bin/heddle-sim --seed $(SIM_SEED) --seeds $(SIM_LONG_SEEDS) --every 1m --cluster $(SIM_CLUSTER)

.PHONY: torture
torture: build ## kill, suspend and starve deployments under load, then account for everything (root: fills small disks)
	go run ./test/torture --deployment dev $(TORTURE_FLAGS)
	go run ./test/torture --deployment services --duration 90s --bench 0 $(TORTURE_FLAGS)

.PHONY: torture-long
torture-long: build ## the same for an hour
	go run ./test/torture --deployment dev --duration 30m --rate 40 --disk 4096 --settle 10m $(TORTURE_FLAGS)
	go run ./test/torture --deployment services --duration 30m --rate 40 --disk 4096 --settle 10m --bench 0 $(TORTURE_FLAGS)

.PHONY: model
model: ## check the model of the hand-over with Spin, and that its mutations fail
	docs/model/check

.PHONY: long
long: ## run what does not fit CI's 40 minutes: more seeds, fuzzing for longer, torture for hours
	$(MAKE) seeds race
	$(MAKE) fuzz FUZZ_TIME=$(FUZZ_TIME)
	$(MAKE) sim SIM_SEEDS=20000 SIM_BROKER_SEEDS=2000 SIM_SEED=$(SIM_SEED)
	$(MAKE) long-map
	$(MAKE) torture-long

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

.PHONY: fmt-check
fmt-check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt: $$unformatted"; exit 1; fi

.PHONY: vet
vet:
	go vet ./...
	go vet -tags integration,budgets ./test/...
	cd bench/peers && go vet ./...

.PHONY: lint
lint: fmt-check vet $(GOLANGCI_LINT) ## check format, vet, golangci-lint
	$(GOLANGCI_LINT) run --allow-serial-runners ./...
	cd bench/peers && $(CURDIR)/$(GOLANGCI_LINT) run --allow-serial-runners --config $(CURDIR)/.golangci.yml ./...

$(GOTESTSUM):
	GOBIN=$(CURDIR)/bin go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	mv bin/gotestsum $@

.PHONY: check-reruns
check-reruns: $(GOTESTSUM) ## try how CI runs failed tests again, on tests that fail by chance and otherwise
	.ci/check

$(GOLANGCI_LINT):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv bin/golangci-lint $@

.PHONY: generate
generate: ## write what is generated: heddle.proto, golden bytes of new messages, golden journals of a new version
	go generate ./...
	go test ./shared/events -run Golden -write-golden
	$(TEST) ./internal/partition -run GoldenJournalsAreWritten -write-golden -v

.PHONY: bench
bench: ## run the Go benchmarks of the parts; `heddle bench` measures the whole
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-compare
bench-compare: ## compare the speed of the working tree with that of revision BASE, in TURNS turns; KAFKA=1 or BROKERS=HOST:PORT: over Kafka
	go run ./bench/compare --base "$(BASE)" --turns $(TURNS) $(if $(BROKERS),--brokers "$(BROKERS)",$(if $(KAFKA),--kafka)) $(COMPARE_FLAGS)

.PHONY: peers-setup
peers-setup: ## install the engines that Heddle is compared with below $PEERS_DIR or /tmp (PEERS=temporal: Temporal, too)
	bench/peers/setup $(PEERS)

.PHONY: peers
peers: ## compare Heddle with Restate and DBOS on this machine, six to eight minutes (PEERS_FLAGS, as -fsync)
	bench/peers/quick $(PEERS_FLAGS)

.PHONY: fuzz
fuzz: ## fuzz every decoder and parser for FUZZ_TIME each; TestEveryDecoderIsFuzzed says what is
	@internal/lint/fuzz $(FUZZ_TIME)

.PHONY: fuzz-keep
fuzz-keep: ## after fuzzing: keep small inputs that reach more code in testdata/fuzz, which go test runs
	@internal/lint/fuzz --keep

.PHONY: clean
clean: ## remove what make built
	rm -rf bin coverage.out
