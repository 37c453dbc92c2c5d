"""Publisher and subscriber for applications."""
