"""The Spark session that all tests share."""

from tests.measure.conftest import spark

__all__ = ["spark"]
