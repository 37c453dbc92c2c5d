"""Overlay designers: interest or traffic in, a better topology out (kTCO, OCBR)."""
