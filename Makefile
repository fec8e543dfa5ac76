# Slipway. A newcomer needs only `make run` and `make test`; both install missing tools.
SHELL := /bin/sh
.DEFAULT_GOAL := help

PORT ?= 8080
DATA ?= .slipway
UPSTREAM ?=
KEYS ?=
RULES ?=
ROUNDS ?= 7

# The compile cache spares every process the stripping of types: it starts sooner and is 20 to 25 MiB smaller. Threads share
# their memory, large buffers leave no holes (mallopt(3)), and files are written by 16 threads. The image sets the same.
paths = PATH="$$bin:$$PWD/node_modules/.bin:$$PATH" NODE_COMPILE_CACHE="$$PWD/.tools/compile-cache" \
	UV_THREADPOOL_SIZE=16 MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=262144
# For the programs, not for the tools, which are slower with it: V8's space for new objects stays at 1 MiB instead of 16, and the
# rest of the heap is collected when it has doubled, not when it has quadrupled. Modules are not looked up as links. The image and
# the tests set the same.
node_options = NODE_OPTIONS="--max-semi-space-size=1 --max-old-space-size=1024 --preserve-symlinks"
run_tools = bin=$$(scripts/setup.sh production) && export $(paths)
dev_tools = bin=$$(scripts/setup.sh development) && export $(paths)

.PHONY: help
help: ## Lists the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: run
run: ## Starts daemon and server with demo releases: make run [PORT=8080] [DATA=.slipway] [UPSTREAM=DIR|URL|slipway+URL|bundle+DIR|oci+URL/REPOSITORY[:TAG]] [KEYS=FILE] [RULES=FILE]
	@$(run_tools) && exec env $(node_options) node cmd/slipway.ts dev --port "$(PORT)" --data "$(DATA)" $(if $(UPSTREAM),--upstream "$(UPSTREAM)") $(if $(KEYS),--keys "$(KEYS)") $(if $(RULES),--rules "$(RULES)")

.PHONY: run-next
run-next: ## Plays the next demo release on the system that runs: make run-next [DATA=.slipway]
	@$(run_tools) && exec env $(node_options) node cmd/slipway.ts dev next --data "$(DATA)"

.PHONY: test
test: ## Runs every check: format, lint, types, dead code, unit, arch, integration, browser, cluster, e2e
	@$(dev_tools) && exec node scripts/test.ts

.PHONY: check
check: ## Runs what belongs before a commit: format, lint, types, arch, the unit tests of what has changed since main: make check [ALL=1]
	@$(dev_tools) && exec node scripts/test.ts $(if $(ALL),,--changed) format lint types workflows unit arch

.PHONY: watch
watch: ## Runs the unit tests again whenever a file that they import changes: make watch [ONLY=test/unit/domain]
	@$(dev_tools) && exec vitest watch --project unit $(ONLY)

.PHONY: test-long
test-long: ## Runs the tests with long campaigns (kills, aborted clients, fuzzing, a million units, a thousand ReleaseChannels) at full length, then on a busy machine
	@$(dev_tools) && { SLIPWAY_LONG=1 node scripts/test.ts unit integration browser cluster; long=$$?; node scripts/test-busy.ts && exit $$long; }

.PHONY: test-busy
test-busy: ## Runs unit and integration beside four busy programs, then with half of a processor: make test-busy [STAGES="unit"]
	@$(dev_tools) && exec node scripts/test-busy.ts $(STAGES)

.PHONY: simulate
simulate: ## Plays a simulation of a whole system from a seed: make simulate SEED=1 [STEPS=60]
	@$(dev_tools) && exec node scripts/simulate.ts "$(SEED)" $(STEPS)

.PHONY: coverage
coverage: ## Prints how many lines of each folder of src the unit tests run: make coverage [ONLY=test/unit/domain]
	@$(dev_tools) && exec node scripts/coverage.ts $(ONLY)

.PHONY: lint
lint: ## Checks format, lint and types
	@$(dev_tools) && oxfmt --check . && oxlint && node scripts/test.ts types

.PHONY: format
format: ## Formats the sources in place
	@$(dev_tools) && oxfmt .

.PHONY: docs
docs: ## Regenerates the reference
	@$(dev_tools) && node scripts/reference-docs.ts && node scripts/chart.ts

.PHONY: docs-site
docs-site: ## Builds the documentation as a site of static files: make docs-site [SITE=.site] [BASE=/]
	@$(dev_tools) && exec node scripts/docs-site.ts --out "$(or $(SITE),.site)" --base "$(or $(BASE),/)"

.PHONY: bench
bench: ## Measures ratios against peers: make bench [ROUNDS=7] [ONLY=sync,hashing]
	@$(dev_tools) && env $(node_options) node cmd/compile-modules.ts && exec node test/bench/main.ts --rounds $(ROUNDS) $(if $(ONLY),--only "$(ONLY)")

.PHONY: bench-quick
bench-quick: ## Measures what people ask for first, in about three minutes
	@$(dev_tools) && env $(node_options) node cmd/compile-modules.ts && exec node test/bench/main.ts --rounds 5 --only brief

.PHONY: bench-compare
bench-compare: ## Compares figures with those of another commit, in alternating rounds: make bench-compare REV=main [ONLY=brief] [ROUNDS=7]
	@$(dev_tools) && exec node scripts/bench-compare.ts "$(REV)" --only "$(or $(ONLY),brief)" --rounds $(ROUNDS)

.PHONY: console
console: ## Builds the console that the server serves
	@$(run_tools) && exec node scripts/console.ts

.PHONY: screenshots
screenshots: ## Takes the pictures of the console in docs/how-to/images
	@$(dev_tools) && export $(node_options) && node scripts/console.ts && exec node scripts/screenshots.ts

.PHONY: kube-tools
kube-tools: ## Builds the Kubernetes programs for the tests, and prints their folder: make kube-tools [PROGRAMS="etcd kube-apiserver"]
	@scripts/kube-tools.sh $(or $(PROGRAMS),all)

.PHONY: manifests
manifests: ## Renders namespace.yaml, crd.yaml and install.yaml of manifests from the chart
	@$(dev_tools) && node scripts/manifests.ts

.PHONY: image
image: ## Builds the container image: make image [IMAGE=slipway:dev] [NODE_IMAGE=node:26-slim]
	docker build -t "$(or $(IMAGE),slipway:dev)" --build-arg REVISION="$$(git rev-parse HEAD 2>/dev/null || echo unknown)" \
		--build-arg SOURCE="$$(scripts/source-address.sh)" $(if $(NODE_IMAGE),--build-arg NODE_IMAGE="$(NODE_IMAGE)") .

.PHONY: sbom
sbom: ## Prints the bill of materials of the production dependencies (CycloneDX); the image contains its own
	@$(run_tools) && exec node scripts/sbom.ts

.PHONY: release
release: ## Builds a release of this commit into .release/VERSION: make release VERSION=0.1.0 [REGISTRY=ghcr.io/OWNER] [KEY=cosign.key] [NODE_IMAGE=node:26-slim] [DOCKER_FLAGS=]
	@$(dev_tools) && exec node scripts/release.ts --version "$(VERSION)" --registry "$(REGISTRY)" --key "$(KEY)" --docker-flags="$(DOCKER_FLAGS)" $(if $(NODE_IMAGE),--node-image "$(NODE_IMAGE)")

.PHONY: publish
publish: ## Publishes .release/VERSION, image and charts: make publish VERSION=0.1.0 REGISTRY=ghcr.io/OWNER [KEY=cosign.key|keyless]
	@$(dev_tools) && exec node scripts/publish.ts --version "$(VERSION)" --registry "$(REGISTRY)" --key "$(KEY)"
