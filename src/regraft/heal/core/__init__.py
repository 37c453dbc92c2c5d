"""What one node decides about healing: its pure core. Events in, effects out (`core.Healing`)."""

from regraft.heal.core.core import Healing
from regraft.heal.core.knowledge import HealingSettings, LocalBroker

__all__ = ["Healing", "HealingSettings", "LocalBroker"]
