# What each target does stands in tests/run/. A Python by absolute path: version managers' shims mislead Ansible.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3 /usr/local/bin/python3) python3)

.PHONY: help demo test test-all lint format bench clean

help:
	@echo 'make demo      the fleet page over the machine models and this machine (no root, under 5 minutes)'
	@echo 'make test      every check this machine can run, with a summary of what ran and what did not'
	@echo 'make test-all  the same on every ansible-core from the oldest to the newest, and every device changed'
	@echo 'make lint      style, types, ansible-lint, documentation, changelog'
	@echo 'make format    let ruff mend style and format'
	@echo 'make bench     what the facts module costs beside an empty module'
	@echo 'make clean     remove what the targets left in the checkout'

demo:
	@$(PYTHON) tests/run/demo.py

test:
	@$(PYTHON) tests/run/checks.py

test-all:
	@ACCELERATOR_OPS_WHOLE=1 $(PYTHON) tests/run/checks.py --all-cores

lint:
	@$(PYTHON) tests/run/checks.py --only ruff,mypy,ansible-lint,docs,changelog

format:
	@$(PYTHON) tests/run/format.py

bench:
	@$(PYTHON) tests/run/bench.py

clean:
	rm -rf .cache .ansible .mypy_cache .pytest_cache .ruff_cache tests/output accelerator-report accelerator-ops-*.tar.gz
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
