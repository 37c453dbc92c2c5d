"""Every way in which a change of rules and one event can meet, on small networks.

The state is how far each switch has come, and where the copies of the event are. From each state the world
may go on in every way that barriers, phases and draining allow: a switch carries out any message that no
barrier holds back, the event is sent, a copy moves by one switch. All states are visited; the ways in
which the event has ended are returned.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from regraft.flows.changing import RuleChange
from regraft.flows.rules import Barrier, Message
from regraft.flows.simulated import Packet, SimulatedSwitch, filled
from regraft.flows.wiring import Port

Copies = tuple[tuple[Port, Packet], ...]


class Ending(NamedTuple):
    """Where an event arrived, sorted (twice: it stands there twice), and whether a switch saw it twice."""

    arrived: tuple[str, ...]
    looped: bool


class _State(NamedTuple):
    phase: int
    done: tuple[frozenset[int], ...]
    """Switch by switch: which messages of the phase are carried out."""
    sent: bool
    copies: Copies
    visited: frozenset[str]
    ending: Ending


class Interleavings:
    """For one change; `endings` explores for one event."""

    def __init__(self, made: RuleChange) -> None:
        self.made = made
        self.names = sorted({*made.old.switches, *made.new.switches})
        self.far = {**made.old.wiring.far, **made.new.wiring.far}
        self.host_at = {**made.old.wiring.host_at, **made.new.wiring.host_at}
        self.states = 0
        self._switch = lru_cache(maxsize=None)(self._make_switch)

    def endings(self, at: Port, packet: Packet) -> set[Ending]:
        none = (frozenset[int](),) * len(self.names)
        first = _State(0, none, False, (), frozenset(), Ending((), False))
        seen, open_states, found = {first}, [first], set()
        while open_states:
            state = open_states.pop()
            self.states += 1
            nexts = list(self._nexts(state, at, packet))
            if not nexts:
                found.add(state.ending)
            for following in nexts:
                if following not in seen:
                    seen.add(following)
                    open_states.append(following)
        return found

    def _nexts(self, state: _State, at: Port, packet: Packet) -> Iterator[_State]:
        if not state.sent:
            yield state._replace(sent=True, copies=((at, packet),))
        for copy in set(state.copies):
            yield self._hop(state, copy)
        if state.phase == len(self.made.phases):
            return
        phase = self.made.phases[state.phase]
        finished = True
        for place, name in enumerate(self.names):
            messages, done = phase.messages.get(name, ()), state.done[place]
            for number in _next_messages(messages, done):
                finished = False
                grown = (*state.done[:place], done | {number}, *state.done[place + 1 :])
                yield state._replace(done=grown)
        if finished and not (phase.drain and state.copies):
            yield state._replace(phase=state.phase + 1, done=(frozenset[int](),) * len(self.names))

    def _hop(self, state: _State, copy: tuple[Port, Packet]) -> _State:
        (switch, in_port), packet = copy
        copies = list(state.copies)
        copies.remove(copy)
        if switch in state.visited:
            ending = state.ending._replace(looped=True)
            return state._replace(copies=tuple(copies), ending=ending)
        arrived = list(state.ending.arrived)
        table = self._switch(self.names.index(switch), state.phase, state.done[self.names.index(switch)])
        for number, out in table.process(packet, in_port):
            port = Port(switch, number)
            if port in self.far:
                copies.append((self.far[port], out))
            elif port in self.host_at:
                arrived.append(self.host_at[port])
        return state._replace(
            copies=tuple(sorted(copies)),
            visited=state.visited | {switch},
            ending=state.ending._replace(arrived=tuple(sorted(arrived))),
        )

    def _make_switch(self, place: int, phase: int, done: frozenset[int]) -> SimulatedSwitch:
        name = self.names[place]
        switch = filled({name: self.made.old.switches.get(name, ())})[name]
        for earlier in self.made.phases[:phase]:
            for message in earlier.messages.get(name, ()):
                switch.apply(message)
        if phase < len(self.made.phases):
            messages = self.made.phases[phase].messages.get(name, ())
            for number in sorted(done):
                switch.apply(messages[number])
        return switch


def _next_messages(messages: tuple[Message, ...], done: frozenset[int]) -> Iterator[int]:
    """Those that may be carried out next: all up to the first barrier that still holds something back."""
    waiting = False
    for number, message in enumerate(messages):
        if isinstance(message, Barrier):
            if waiting:
                return
        elif number not in done:
            waiting = True
            yield number
