"""How managers talk to each other: one connection for each two that have something to say."""
