# Every target works from a clean clone: it brings the toolchain, installs the packages and builds first where needed.
SHELL := bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

RUN := scripts/with-node.sh
# Sandboxes are run by root.
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] || echo sudo) $(RUN)
INSTALLED := node_modules/.installed
BUILT := dist/.built
SOURCES := $(shell find src gen -name '*.ts' -o -name '*.py' 2>/dev/null) package.json tsconfig.json tsdown.config.ts

.PHONY: help demo setup build generate generate-polyglot contract-diff docs check test test-tools conformance bench clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

demo: setup ## Prepare this machine, then run examples/quickstart.ts
	@$(AS_ROOT) node examples/quickstart.ts

setup: $(BUILT) ## Prepare this machine for sandboxes (abx setup)
	@$(AS_ROOT) node dist/cli/abx.js setup

build: $(BUILT) ## Build dist/

generate: $(INSTALLED) ## Write gen/ from openapi/ and proto/
	@$(RUN) scripts/generate.sh

generate-polyglot: $(INSTALLED) ## Python and Go from openapi/ and proto/; ONLY=python or go, OUT=<directory>
	@$(RUN) scripts/generate-polyglot.sh "$(ONLY)" $(OUT)

contract-diff: $(INSTALLED) ## What changed in openapi/ and proto/ since FROM=<revision>
	@$(RUN) node scripts/contract-diff/run.mjs "$(FROM)"

docs: $(INSTALLED) ## The reference of every public name, as pages in site/
	$(RUN) typedoc --options scripts/reference/typedoc.config.mjs

check: $(BUILT) ## Contract, generated code, style, types, reference, layers, unused code, package
	$(RUN) scripts/check-generated.sh
	$(RUN) scripts/contract-check.sh
	$(RUN) biome check --error-on-warnings .
	$(RUN) tsc --noEmit
	$(RUN) typedoc --options scripts/reference/typedoc.config.mjs --emit none --logLevel Warn
	$(RUN) depcruise src
	$(RUN) knip
	$(RUN) publint --strict
	# The entry for programs of e2b has a default export as that package does; require() of a module gives it as `default`.
	$(RUN) attw --pack . --ignore-rules false-export-default --format ascii --quiet
	$(RUN) size-limit --silent

test: setup test-tools ## Prepare this machine, then run all tests
	$(AS_ROOT) vitest run --reporter=default --reporter=json --outputFile.json=node_modules/.cache/test-results.json

# What tests look through: a real terminal, and shells that read completion scripts.
test-tools:
	@scripts/test-tools.sh

conformance: setup ## Drive the platform with clients that are not ours
	@$(AS_ROOT) scripts/conformance.sh

bench: setup ## Measure; table on the terminal, JSON in bench/results/latest.json
	@$(AS_ROOT) node --import ./scripts/resolve-ts.mjs bench/run.ts

clean: ## Remove what was built and installed here
	rm -rf dist node_modules site .toolchain test/conformance/*/{node_modules,.venv,gen,.bin}

$(INSTALLED): package.json package-lock.json
	$(RUN) npm ci --ignore-scripts
	@touch $@

$(BUILT): $(INSTALLED) $(SOURCES)
	$(RUN) npm run --silent build
	@touch $@
