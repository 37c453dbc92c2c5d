"""Full-text search that others ask from afar."""
