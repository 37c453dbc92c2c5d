"""The content language: CloudEvents SQL expressions that match events, cover and overlap each other."""
