"""A chat room: whoever has joined may speak, and everybody reads on from the last line that she has seen."""

from typing import Any

KEPT = 1000


class Chat:
    def __init__(self, state: dict[str, Any], context: Any) -> None:
        self.state, self.context = state, context
        for field, first in (("members", []), ("lines", []), ("said", 0), ("kept", KEPT), ("release", "1.0")):
            state.setdefault(field, first)

    def join(self, who: str) -> dict[str, Any]:
        if who not in self.state["members"]:
            self.state["members"].append(who)
        return {"members": self.state["members"], "said": self.state["said"]}

    def leave(self, who: str) -> None:
        if who in self.state["members"]:
            self.state["members"].remove(who)

    def say(self, who: str, text: str) -> int:
        """The number of the line."""
        if who not in self.state["members"]:
            raise ValueError(f"{who} has not joined")
        self.state["said"] += 1
        self.state["lines"].append([self.state["said"], who, text])
        del self.state["lines"][: -self.state["kept"]]
        return self.state["said"]

    def read(self, after: int = 0) -> list[list[Any]]:
        return [line for line in self.state["lines"] if line[0] > after]

    def where(self) -> str:
        return self.context.place

    def update(self, release: str, settings: dict[str, Any]) -> str:
        self.state["release"] = release
        self.state["kept"] = settings.get("kept", self.state["kept"])
        return release
