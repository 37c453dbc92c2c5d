"""Content routes over a switch network: exchangeable components around one framework (Content routes)."""
