"""What an application waits for: publications to be acknowledged, filters to be in place or gone."""

import asyncio
from collections import deque
from collections.abc import Container, Iterable, Sequence

from regraft.client.checks import encoded
from regraft.client.errors import refused
from regraft.protocol.events import Event

FRAME_BYTES = 16 * 2**20
BATCH_BYTES = 2**20


class Outstanding:
    """Our publications on their way. Numbers ascend and acknowledgements are cumulative: all is a queue."""

    def __init__(self, window: int, most_bytes: int) -> None:
        self.window = window
        self.most_bytes = most_bytes
        self.count = 0
        self._bytes = 0
        self._sent: deque[tuple[int, int, int]] = deque()
        """For each batch: its last number, how many publications, how many bytes."""
        self._waiting: deque[tuple[int, int, asyncio.Future[None]]] = deque()
        """First and last number, and the future that waits for them."""
        self._rejected: dict[int, str] = {}
        self._changed: list[asyncio.Future[None]] = []
        self.fault: Exception | None = None

    @property
    def room(self) -> int:
        """How many more may go; a single large one always goes when nothing is on the way."""
        if self._bytes >= self.most_bytes:
            return 0
        return self.window - self.count

    def sent(self, last: int, events: Sequence[bytes]) -> None:
        size = sum(map(len, events))
        self._sent.append((last, len(events), size))
        self.count += len(events)
        self._bytes += size

    def expect(self, first: int, last: int) -> asyncio.Future[None]:
        """Done when all of these are acknowledged, or with the fault of the first that is refused."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.fault is not None:
            future.set_exception(self.fault)
        else:
            self._waiting.append((first, last, future))
        return future

    def rejected(self, number: int, reason: str) -> None:
        self._rejected[number] = reason

    def acknowledged(self, up_to: int) -> None:
        while self._sent and self._sent[0][0] <= up_to:
            _, count, size = self._sent.popleft()
            self.count -= count
            self._bytes -= size
        while self._waiting and self._waiting[0][1] <= up_to:
            first, last, future = self._waiting.popleft()
            reasons = [self._rejected.pop(each) for each in sorted(self._rejected) if first <= each <= last]
            if future.done():
                continue
            if reasons:
                future.set_exception(refused(reasons[0]))
            else:
                future.set_result(None)
        self._wake()

    async def change(self) -> None:
        """Wait until something was acknowledged."""
        if self.fault is not None:
            raise self.fault
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._changed.append(future)
        await future

    def take_rejected(self) -> Exception | None:
        """The first refusal that no future waits for."""
        if not self._rejected:
            return None
        reason = self._rejected[min(self._rejected)]
        self._rejected.clear()
        return refused(reason)

    def fail(self, fault: Exception) -> None:
        """Nothing will be acknowledged any more."""
        self.fault = fault
        for _, _, future in self._waiting:
            resolve(future, fault)
        self._waiting.clear()
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, []
        for future in changed:
            resolve(future, self.fault)


class Placing:
    """Filters that are waited for until they are in place or, once withdrawn, until they are gone."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def expect(self, id: str) -> asyncio.Future[None]:
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        return future

    def settle(self, id: str, fault: Exception | None) -> None:
        """The broker has answered; the fault says why it refuses."""
        if (future := self._waiting.pop(id, None)) is not None:
            resolve(future, fault)

    def reconnected(self, known: Container[str]) -> None:
        """A new hello has listed every filter: what was withdrawn is gone, and no other answer will come."""
        for id in [each for each in self._waiting if each not in known]:
            self.settle(id, None)

    def fail(self, fault: Exception) -> None:
        """No answer will come any more."""
        for id in list(self._waiting):
            self.settle(id, fault)


def resolve(future: asyncio.Future[None], fault: Exception | None) -> None:
    """Finish the future, if it is not done. A fault is not logged even if no task waits for it."""
    if future.done():
        return
    if fault is None:
        future.set_result(None)
    else:
        future.set_exception(fault)
        future.exception()  # marks it as seen


def encoded_parts(events_: Iterable[Event]) -> Iterable[list[bytes]]:
    """The encoded events, in parts that are sent together."""
    part: list[bytes] = []
    size = 0
    for event in events_:
        body = encoded(event)
        part.append(body)
        size += len(body)
        if len(part) == 256 or size > BATCH_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
