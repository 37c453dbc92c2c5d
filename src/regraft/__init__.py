"""Regraft keeps a publish/subscribe network in the shape that its traffic needs, while it runs."""

__version__ = "0.1.0"
