"""One connection to a database: many calls at a time, each with a time limit.

On failure: a call that is not answered in time, or whose connection ends, or is answered with garbage, raises
`DatabaseAway` with the reason; the next call connects anew.
"""

from regraft.heal.database.protocol import ASKING, Answer, Ask, Call
from regraft.model import RegraftError
from regraft.wire.requests import Away, Caller


class DatabaseAway(RegraftError):
    """This database does not answer, or answers garbage; another one may know."""


class Connection:
    """Connects at the first call. `place` names it in messages."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.place = f"database at {host}:{port}"
        self._caller = Caller((host, port), ASKING, lambda answer: answer.number)

    async def call(self, ask: Ask, seconds: float) -> Answer:
        try:
            return await self._caller.call(lambda number: Call(number, ask), seconds)
        except TimeoutError:
            raise DatabaseAway(f"{self.place}: no answer in {seconds:g} s") from None
        except Away as fault:
            raise DatabaseAway(f"{self.place}: {fault}") from None

    def close(self) -> None:
        self._caller.close()
