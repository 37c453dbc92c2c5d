"""Kills one broker, and times the healing by what ZooKeeper shows."""

import asyncio
import time

import msgspec

from regraft.coord.typed import watch
from regraft.demo.running import Scene
from regraft.demo.stage import Stage
from regraft.demo.story import HealedCrash
from regraft.heal.owner import Owner
from regraft.heal.ownership import Places
from regraft.model import RegraftError
from regraft.serve import views as v
from regraft.serve.service import Service

HEAL_SECONDS = 90.0
LOGGED_SECONDS = 10.0
"""For the record of the adaptation to appear; without it, the phases are not known."""
POLL_SECONDS = 0.02


def victim_of(seen: Scene) -> str:
    """The broker with the most links: its crash is the worst for this overlay."""
    degree = {id: sum(id in pair for pair in seen.links) for id in seen.brokers}
    return max(sorted(degree), key=lambda id: degree[id])


async def crash(seen: Scene, stage: Stage, service: Service) -> tuple[HealedCrash, float, float]:
    """Kill a broker and wait until it is out of the overlay: what happened, and both times."""
    victim = victim_of(seen)
    links = sum(victim in pair for pair in seen.links)
    watching = asyncio.create_task(_deputy(stage, victim))
    try:
        killed = time.time()
        pid = await stage.nodes.kill(victim)
        seen.victim = victim
        seen.say(f"kill -9 of process {pid}: the broker of {victim}, with {links} links, is gone")
        async with asyncio.timeout(HEAL_SECONDS):
            by, stood_in = await watching
            seen.say(f"{by} stands in for it after {1000 * (stood_in - killed):.0f} ms")
            while victim in seen.brokers:
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise RegraftError(f"{victim} was not healed around within {HEAL_SECONDS:g} s") from None
    finally:
        watching.cancel()
    healed = time.time()
    seen.say(f"healed after {healed - killed:.1f} s: its links and clients are at others")
    found = HealedCrash(
        victim=victim,
        pid=pid,
        links=links,
        deputy=stood_in - killed,
        removed=healed - killed,
        by=by,
    )
    return await _with_times(found, service, killed), killed, healed


async def _deputy(stage: Stage, victim: str) -> tuple[str, float]:
    """The broker that stands in for the victim, and since when."""
    async for stored in watch(stage.coord, Places(stage.layout, victim).owner, Owner):
        owner = getattr(stored, "value", None)
        if isinstance(owner, Owner) and owner.by:
            return owner.by, time.time()
    raise RegraftError("the connection to ZooKeeper was closed")


async def _with_times(found: HealedCrash, service: Service, killed: float) -> HealedCrash:
    """Adds the times of the four phases, which the leader of the adaptation writes down at its end."""
    deadline = time.monotonic() + LOGGED_SECONDS
    while time.monotonic() < deadline:
        recent = await service.adaptations(20)
        for each in recent if not isinstance(recent, v.Refused) else ():
            if each.kind == "delete" and each.at >= killed and each.outcome == "done":
                return msgspec.structs.replace(
                    found,
                    rules=each.rules,
                    timeout_ms=each.timeout_ms,
                    vote_ms=each.vote_ms,
                    election_ms=each.election_ms,
                    adaptation_ms=each.adaptation_ms,
                )
        await asyncio.sleep(0.2)
    return found
