"""Update commands for several applications in one component (Mimosa Pudica §4.3, broadcast to brokers).

It is cloned to every broker that runs one of them; each clone carries out what concerns those beside it.
"""

from typing import Any


class Update:
    def __init__(self, state: dict[str, Any], context: Any) -> None:
        self.state, self.context = state, context
        state.setdefault("commands", {})
        state.setdefault("applied", [])

    def command(self, application: str, release: str, settings: dict[str, Any] | None = None) -> None:
        """To be carried out; a later one for the same application replaces it."""
        self.state["commands"][application] = {"release": release, "settings": settings or {}}

    def apply(self) -> list[str]:
        """What concerns applications at this place: their names."""
        for application, command in sorted(self.state["commands"].items()):
            if application in self.state["applied"]:
                continue
            if self.context.call(application, "where") == self.context.place:
                self.context.call(application, "update", command["release"], command["settings"])
                self.state["applied"].append(application)
        return self.state["applied"]
