"""Carries a plan out on running brokers: the deployer with its journal, and an agent for each broker."""
