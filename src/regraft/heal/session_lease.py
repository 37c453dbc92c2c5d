"""How long a broker may answer clients: only while nobody else can have taken it over.

Another takes a living broker over only when its session has ended (`ownership`). So the broker may go on
for as long as its session surely lives: from the moment when a request was *sent* that ZooKeeper's leader
answered in that session, for half of the session's timeout. Half, because the leader hears of a session
from its follower, at the latest after half a tick (a quarter of the shortest timeout), and the request
before may be a sixth of the timeout old. The request checks the owner in the same breath; and in a new
session the presence has to be ours again before the first one counts.
"""

import asyncio
import time
from collections.abc import Callable

from regraft.coord import Check, Conflict, Coord, CoordError, CoordUnreachable, Missing, State

SHARE = 0.5
RENEWALS = 6
"""In one timeout of the session."""
AGAIN_SECONDS = 0.05


class SessionLease:
    """`await SessionLease(...).keep()` until the broker is somebody else's; cancel it when it stops."""

    def __init__(
        self,
        coord: Coord,
        alive: str,
        fence: Check,
        prolong: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`prolong` is told until when, by `clock`."""
        self._coord = coord
        self._alive = alive
        self._fence = fence
        self._prolong = prolong
        self._clock = clock
        self._session: int | None = None

    async def keep(self) -> str:
        """Why it is over."""
        while self._coord.state is not State.CLOSED:
            try:
                pause = await self._renewed()
            except (Conflict, Missing):
                return "another has taken the broker over"
            except CoordUnreachable:
                pause = AGAIN_SECONDS
            except CoordError as fault:
                return str(fault)
            await asyncio.sleep(pause)
        return "the connection to ZooKeeper was closed"

    async def _renewed(self) -> float:
        """Seconds until the next renewal."""
        session = self._coord.session_id
        if session is None or session != self._session:
            node = await self._coord.get(self._alive)
            if node is None or node.ephemeral_owner != session:
                return AGAIN_SECONDS
            self._session = session
        sent = self._clock()
        await self._coord.transaction([self._fence])
        if self._coord.session_id == session:
            self._prolong(sent + SHARE * self._coord.session_timeout)
        return self._coord.session_timeout / RENEWALS
