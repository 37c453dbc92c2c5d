"""The papers' experiments, re-run, and the workloads they run on."""
