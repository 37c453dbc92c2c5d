"""Records → tables, one transform per file: DataFrame → DataFrame, a declared schema in and out."""
