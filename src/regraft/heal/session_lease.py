"""How long a broker may answer clients: only while no other process can have taken it over.

A living broker is taken over only when its session has ended (`ownership`). So it may answer while its
session certainly lives: for half of the session's timeout, counted from the moment when a request was *sent*
that ZooKeeper's leader answered in that session. Half, because the leader hears of a session from its
follower, at the latest after half a tick (a quarter of the shortest timeout), and the request before may be a
sixth of the timeout old. The request also checks the owner; and in a new session the presence has to be ours
again before the first request counts.
"""

import asyncio
import time
from collections.abc import Callable

from regraft.coord import Check, Conflict, ConnectionState, Coord, CoordError, CoordUnreachable, Missing

SHARE = 0.5
RENEWALS = 6
"""How many renewals there are in one timeout of the session."""
AGAIN_SECONDS = 0.05


class SessionLease:
    """`await SessionLease(...).keep()` returns when the broker has another owner; cancel it when the broker
    stops."""

    def __init__(
        self,
        coord: Coord,
        alive: str,
        fence: Check,
        prolong: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`prolong` gets the time until which the lease holds, by `clock`."""
        self._coord = coord
        self._alive = alive
        self._fence = fence
        self._prolong = prolong
        self._clock = clock
        self._session: int | None = None

    async def keep(self) -> str:
        """Renews the lease until it is lost; returns why."""
        while self._coord.state is not ConnectionState.CLOSED:
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
