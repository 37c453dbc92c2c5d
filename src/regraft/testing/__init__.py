"""Simulations, oracles and builders for tests and benchmarks. Nothing that runs in production imports it.

Import the modules themselves: this file imports none of them, so that a process which needs one does not
load the libraries of all others.
"""
