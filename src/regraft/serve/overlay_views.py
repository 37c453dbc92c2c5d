"""The overlay as people see it: brokers and links with their loads, read from the estate a moment ago."""

import asyncio
import time
from collections.abc import Mapping

from regraft.estate.protocol import BrokerFacts, Estate
from regraft.estate.windows import MeasuredWindow, fitting
from regraft.model import Broker, Ends, RegraftError, Topology
from regraft.serve import views as v
from regraft.serve.designing import TopologyDesigner

FRESH_SECONDS = 3.0
"""Requests within this time share one reading; a large overlay is read less often."""
BROKERS_PER_SECOND = 100.0


class OverlayViews:
    def __init__(self, estate: Estate, designer: TopologyDesigner) -> None:
        self._estate = estate
        self._designer = designer
        self._reading = asyncio.Lock()
        self._read_at = 0.0
        self._states: Mapping[str, BrokerFacts] = {}
        self._rates: tuple[tuple[str, str], dict[Ends, float]] = (("", ""), {})
        self.brokers: tuple[v.BrokerView, ...] = ()

    async def topology(self, windows: Mapping[str, MeasuredWindow]) -> v.TopologyView | v.Refused:
        try:
            known = self._estate.known or await self._estate.refresh()
            await self._read(len(known.topology.ids))
        except RegraftError as fault:
            return v.Refused(code="away", reason=str(fault))
        topology = self._designer.network.annotated(known.topology)
        last = next(reversed(list(windows.values())), None)
        self.brokers = tuple(self._brokers(topology, last))
        return v.TopologyView(
            kind=topology.kind,
            epoch=known.epoch,
            sha256=topology.sha256,
            brokers=self.brokers,
            links=tuple(self._links(topology, last)),
            located=all(
                each.latitude is not None and each.longitude is not None for each in topology.brokers
            ),
            at=self._read_at,
        )

    async def _read(self, brokers: int) -> None:
        async with self._reading:
            fresh = max(FRESH_SECONDS, brokers / BROKERS_PER_SECOND)
            if time.time() - self._read_at < fresh:
                return
            self._states = await self._estate.brokers()
            self._read_at = time.time()

    def _brokers(self, topology: Topology, last: MeasuredWindow | None) -> list[v.BrokerView]:
        known = {broker.id: broker for broker in topology.brokers}
        ids = [*topology.ids, *sorted(set(self._states) - set(topology.ids))]
        return [self._broker(known.get(id) or Broker(id), topology, last) for id in ids]

    def _broker(self, broker: Broker, topology: Topology, last: MeasuredWindow | None) -> v.BrokerView:
        facts = self._states.get(broker.id, BrokerFacts())
        measured = last.brokers.get(broker.id, {}) if last else {}
        near = tuple(sorted(topology.neighbours.get(broker.id, ())))
        memory = measured.get("memory")
        return v.BrokerView(
            id=broker.id,
            host=broker.host if facts.host is None else facts.host,
            port=broker.port if facts.port is None else facts.port,
            region=broker.region,
            label=broker.label,
            latitude=broker.latitude,
            longitude=broker.longitude,
            alive=facts.alive,
            in_overlay=broker.id in topology.neighbours,
            degree=len(near),
            neighbours=near,
            life=facts.life,
            clients=facts.clients,
            sessions=facts.sessions,
            queue_bytes=facts.queue_bytes,
            publications_per_second=facts.publications_per_second,
            bytes_in_per_second=facts.bytes_in_per_second,
            bytes_out_per_second=facts.bytes_out_per_second,
            messages_per_second=measured.get("rate"),
            cpu=measured.get("cpu"),
            memory=int(memory) if memory is not None else None,
            links=dict(facts.links),
        )

    def _links(self, topology: Topology, last: MeasuredWindow | None) -> list[v.LinkView]:
        rates = self._rates_of(topology, last)
        most = max(rates.values(), default=0.0)
        return [
            v.LinkView(
                one=link.ends[0],
                other=link.ends[1],
                latency_ms=link.latency_ms,
                cost=link.cost,
                up=self._is_up(link.ends),
                messages_per_second=rates.get(link.ends),
                share=rates.get(link.ends, 0.0) / most if most else None,
            )
            for link in topology.links
        ]

    def _rates_of(self, topology: Topology, last: MeasuredWindow | None) -> dict[Ends, float]:
        """The load that the traffic of the last window puts on each link of the current topology."""
        if last is None:
            return {}
        key = (topology.sha256, last.id)
        if self._rates[0] != key:
            found = self._designer.rates(topology, fitting(last.workload, topology), last.seconds)
            self._rates = (key, found)
        return self._rates[1]

    def _is_up(self, pair: Ends) -> bool | None:
        """Whether both ends see the link as up; None if neither reports it."""
        one, other = pair
        said = []
        for id, near in ((one, other), (other, one)):
            facts = self._states.get(id)
            if facts is not None and near in facts.links:
                said.append(facts.links[near] == "up")
        return all(said) if said else None
