"""One KazooClient, its threads, and the way from them to the event loop.

The threads stay inside: every answer, event and change of state comes to the loop by
`call_soon_threadsafe`, in the order in which kazoo saw them. Nothing here knows what a write means.
"""

import asyncio
import contextlib
import importlib.util
import logging
import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState, KeeperState

from regraft.coord.configuration import Configuration, Digest, Sasl, acl_of
from regraft.coord.errors import CoordUnreachable, Denied
from regraft.coord.handler import Handler
from regraft.coord.values import ConnectionChange, ConnectionState
from regraft.model import BadInput

AT_ONCE = 128
"""The most requests under way. kazoo wakes its thread through a socket that holds a few hundred signals; a
signal that does not fit would block the event loop."""
STOP_SECONDS = 5.0
STOP_SECONDS_ALONE = 0.2
"""Without a connection there is no server to say goodbye to."""
AGAIN_SECONDS = 0.5
_STATES = {
    KazooState.CONNECTED: ConnectionState.CONNECTED,
    KazooState.SUSPENDED: ConnectionState.SUSPENDED,
    KazooState.LOST: ConnectionState.LOST,
}

# Without a handler of its own, Python prints kazoo's warnings on standard error.
logging.getLogger("kazoo").addHandler(logging.NullHandler())


class _LastWarning(logging.Handler):
    """Keeps the last warning, because kazoo tells only its log why a connection failed."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text != "Transition to CONNECTING":
            self.text = text.rpartition("Connection dropped: ")[2].rpartition("socket connection error: ")[2]


class Session:
    """States, requests and their answers, on the loop on which it was made."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.state = ConnectionState.SUSPENDED
        self.session_id: int | None = None
        self.negotiated = configuration.session_timeout
        """Seconds of silence after which the servers let the session expire."""
        self.listeners: list[Callable[[ConnectionChange], None]] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._waiting: set[asyncio.Future[Any]] = set()
        self._warning = _LastWarning()
        self._refused = False
        self._proven = False
        self._stopping = False
        logger = logging.Logger("regraft.coord")  # one for each client, outside the tree of loggers
        logger.addHandler(self._warning)
        self._client = _client(configuration, logger)
        self._client.add_listener(self._on_state)
        self._learn_timeout()
        self._never_give_up()

    def start(self) -> None:
        self._client.start_async()

    def unreachable(self, what: str = "no connection") -> CoordUnreachable | Denied:
        hosts = self.configuration.hosts
        if self._refused:
            return Denied(f"ZooKeeper at {hosts}", "the credentials were refused")
        if self.state is ConnectionState.CLOSED:
            return CoordUnreachable(hosts, "the connection was closed")
        warning = f" ({self._warning.text})" if self._warning.text else ""
        limit = f" within {self.configuration.timeout:g} s"
        return CoordUnreachable(hosts, f"{what}{limit}{warning}")

    async def connected(self, deadline: float) -> None:
        """Waits for a connection until `deadline`, in the loop's time."""
        try:
            async with asyncio.timeout_at(deadline):
                while self.state is not ConnectionState.CONNECTED:
                    if self.state is ConnectionState.CLOSED:
                        raise self.unreachable()
                    await self._changed.wait()
        except TimeoutError:
            raise self.unreachable() from None

    async def ask(self, start: Callable[[KazooClient], Any]) -> Any:
        """Hands one request to kazoo and waits for the answer, or raises kazoo's fault."""
        async with self._slots:
            answer: asyncio.Future[Any] = self._loop.create_future()
            self._waiting.add(answer)
            try:
                start(self._client).rawlink(lambda result: self._to_loop(_settle, answer, result))
                value = await answer
                self._proven = True
                return value
            finally:
                self._waiting.discard(answer)

    async def stop(self) -> None:
        """Ends the session at once, with its ephemeral nodes, if the ensemble is reachable."""
        if self._stopping:
            return
        self._stopping = True
        limit = STOP_SECONDS if self.state is ConnectionState.CONNECTED else STOP_SECONDS_ALONE
        done = asyncio.Event()

        def end() -> None:
            with contextlib.suppress(Exception):  # an ensemble that does not answer lets the session expire
                self._client.stop()
                self._client.close()
            self._to_loop(done.set)

        # kazoo waits for its threads without a limit, so we let a daemon thread wait, and wait for that.
        threading.Thread(target=end, name="ZooKeeper stop", daemon=True).start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await done.wait()
        self._close()

    def _close(self) -> None:
        if self.state is not ConnectionState.CLOSED:
            self._change(ConnectionState.CLOSED, None)
        for answer in list(self._waiting):
            if not answer.done():
                answer.set_exception(self.unreachable())

    def _to_loop(self, what: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended before the threads
            self._loop.call_soon_threadsafe(what, *arguments)

    def _on_state(self, state: str) -> None:
        """In kazoo's thread, which sets the session's id before it calls."""
        refused = self._client.client_state == KeeperState.AUTH_FAILED
        self._to_loop(self._arrived, _STATES[state], self._client._session_id, refused)

    def _arrived(self, state: ConnectionState, session_id: int | None, refused: bool) -> None:
        """A handshake that a server breaks off looks like a refusal, unless the credentials worked before."""
        if self.state is ConnectionState.CLOSED:
            return
        self._refused = refused and not self._proven
        if self._refused:
            self._close()
        else:
            self._change(state, session_id)

    def _change(self, state: ConnectionState, session_id: int | None) -> None:
        new = state is ConnectionState.CONNECTED and session_id != self.session_id
        self.state = state
        if state is ConnectionState.CONNECTED:
            self.session_id = session_id
        self._changed.set()
        self._changed = asyncio.Event()
        for listener in list(self.listeners):
            listener(ConnectionChange(state, self.session_id, new))

    def _learn_timeout(self) -> None:
        """Learn the timeout that the servers granted: kazoo has it only inside the function that we wrap."""
        connection = self._client._connection
        connect = connection._connect

        def connect_and_note(host: str, address: str, port: int) -> tuple[float, float]:
            read_timeout, connect_timeout = connect(host, address, port)
            self.negotiated = read_timeout * 1.5 / 1000  # kazoo waits two thirds of it
            return read_timeout, connect_timeout

        connection._connect = connect_and_note

    def _never_give_up(self) -> None:
        """kazoo's thread ends after a refusal, or an answer that it cannot read; this starts it again."""
        connection = self._client._connection
        loop = connection.zk_loop

        def loop_until_stopped() -> None:
            while True:
                with contextlib.suppress(Exception):
                    loop()
                if self._client._stopped.wait(AGAIN_SECONDS):
                    return

        connection.zk_loop = loop_until_stopped


def _settle(answer: asyncio.Future[Any], result: Any) -> None:
    if answer.done():
        return
    if result.exception is None:
        answer.set_result(result.value)
    else:
        answer.set_exception(result.exception)


def _client(configuration: Configuration, logger: logging.Logger) -> KazooClient:
    return KazooClient(
        hosts=configuration.hosts,
        timeout=configuration.session_timeout,
        handler=Handler(configuration.tls),
        default_acl=acl_of(configuration),
        auth_data=_digest(configuration),
        sasl_options=_sasl(configuration),
        connection_retry={"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 1.0},
        logger=logger,
    )


def _digest(configuration: Configuration) -> list[tuple[str, str]] | None:
    auth = configuration.auth
    return [("digest", f"{auth.user}:{auth.password}")] if isinstance(auth, Digest) else None


def _sasl(configuration: Configuration) -> dict[str, str] | None:
    auth = configuration.auth
    if not isinstance(auth, Sasl):
        return None
    if importlib.util.find_spec("puresasl") is None:  # kazoo needs it for this alone
        raise BadInput("ZooKeeper", "SASL needs the package pure-sasl")
    if auth.mechanism == "GSSAPI" and importlib.util.find_spec("kerberos") is None:
        raise BadInput("ZooKeeper", "SASL with GSSAPI needs the package kerberos")
    options = {"mechanism": auth.mechanism, "service": auth.service}
    if auth.mechanism == "DIGEST-MD5":
        options |= {"username": auth.user, "password": auth.password}
    elif auth.user:
        options["principal"] = auth.user
    return options
