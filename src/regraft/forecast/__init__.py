"""What traffic to expect: per traffic class, from the hours of past weeks and from the last windows. Pure."""

from regraft.forecast.forecaster import Errors, Forecast, Forecaster
from regraft.forecast.seasons import HourOfTraffic

__all__ = ["Errors", "Forecast", "Forecaster", "HourOfTraffic"]
