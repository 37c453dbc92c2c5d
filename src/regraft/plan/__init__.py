"""Topology A to topology B: actions, formulations, solvers, bounds, verify."""
