"""The answers that a component has given, so that no call is executed twice. They move with its state.

A caller repeats a call with the same id until it has the answer. With each call it says below which number
it has all answers; those are dropped. A caller that has not been heard of for `FORGET` seconds is forgotten;
callers give up long before (`caller.PATIENCE`).
"""

from regraft.components.messages import Answered, CallId, Remembered

FORGET = 600.0
MOST_CALLERS = 10_000
"""With this many, callers that were silent for `FORGET` seconds are dropped."""


class RememberedAnswers:
    def __init__(self, remembered: dict[str, Remembered], now: float) -> None:
        self._floors = {caller: each.floor for caller, each in remembered.items()}
        self._answers = {caller: dict(each.answers) for caller, each in remembered.items()}
        self._heard = dict.fromkeys(remembered, now)

    def heard(self, caller: str, answered: int, now: float) -> None:
        """A call came from this caller, which has all answers below `answered`."""
        if caller not in self._heard and len(self._heard) >= MOST_CALLERS:
            self.forget(now)
        self._heard[caller] = now
        floor = self._floors.get(caller, 0)
        if answered > floor:
            self._floors[caller] = answered
            known = self._answers.get(caller, {})
            for number in [each for each in known if each < answered]:
                del known[number]

    def over(self, id: CallId) -> bool:
        """The caller has the answer already: this is a late duplicate."""
        return id.number < self._floors.get(id.caller, 0)

    def floor(self, caller: str) -> int:
        return self._floors.get(caller, 0)

    def answer(self, id: CallId) -> Answered | None:
        return self._answers.get(id.caller, {}).get(id.number)

    def keep(self, id: CallId, answer: Answered, now: float) -> None:
        self._answers.setdefault(id.caller, {})[id.number] = answer
        self._heard[id.caller] = now

    def forget(self, now: float) -> None:
        for caller in [each for each, at in self._heard.items() if now - at > FORGET]:
            for held in (self._heard, self._floors, self._answers):
                held.pop(caller, None)

    def dump(self) -> dict[str, Remembered]:
        callers = self._floors.keys() | self._answers.keys()
        return {
            caller: Remembered(self._floors.get(caller, 0), dict(self._answers.get(caller, {})))
            for caller in sorted(callers)
        }
