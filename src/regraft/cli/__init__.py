"""The command line `regraft`."""
