"""Many brokers in one process: each takes its port, or a free one, then all learn each other's addresses."""

import asyncio
from collections.abc import Callable
from types import TracebackType

from regraft.broker.io.configuration import Address, Configuration
from regraft.broker.io.server import BrokerServer
from regraft.model import BadInput, Topology


class Overlay:
    """`async with Overlay(topology)`: its brokers run, and stop at the end."""

    def __init__(
        self, topology: Topology, configure: Callable[[str, tuple[str, ...]], Configuration]
    ) -> None:
        self.topology = topology
        self.addresses: dict[str, Address] = {}
        self.servers = {
            id: BrokerServer(configure(id, tuple(sorted(topology.neighbours[id]))), self.addresses)
            for id in topology.ids
        }

    async def __aenter__(self) -> "Overlay":
        try:
            for id, server in self.servers.items():
                try:
                    self.addresses[id] = await server.listen()
                except BadInput as fault:
                    raise fault.within(f"broker {id!r}") from None
            for server in self.servers.values():
                await server.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def metrics(self) -> dict[str, Address | None]:
        return {id: server.metrics_address for id, server in self.servers.items()}

    @property
    def controls(self) -> dict[str, Address | None]:
        return {id: server.control_address for id, server in self.servers.items()}

    async def ended(self, id: str) -> str:
        """Waits until the broker has given up, and says why."""
        await self.servers[id].failed.wait()
        return self.servers[id].fault

    async def stop(self) -> None:
        """Stop all at once; one that fails to stop does not keep the others from stopping."""
        ends = await asyncio.gather(
            *[server.stop() for server in self.servers.values()], return_exceptions=True
        )
        for fault in ends:
            if isinstance(fault, BaseException):
                raise fault
