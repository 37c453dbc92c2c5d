"""`with` where `async with` belongs, and the other way round: Python's message does not say what to do."""

from typing import NoReturn

from regraft.client.errors import Misuse

BLOCKING = "this is the client for `async` programs: write `async {}`, or import `regraft.client.sync`"
AWAITED = "this is the client without `await`: write `{}` without `async`, or import `regraft.client`"


class OnlyAsync:
    """For the sessions and subscriptions of asynchronous programs."""

    def __enter__(self) -> NoReturn:
        raise Misuse(BLOCKING.format("with"))

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> NoReturn:
        raise Misuse(BLOCKING.format("for"))


class OnlyBlocking:
    """For those of programs without `await`."""

    async def __aenter__(self) -> NoReturn:
        raise Misuse(AWAITED.format("with"))

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> NoReturn:
        raise Misuse(AWAITED.format("for"))
