"""Publications that are held while a subtree moves: which wait for it, and in which order they reach it.

Only for shift(i, j, k), of which `relink` has the protocol: i moves with its subtree from j to k. j hands
over to k what it holds for the subtree. k adds the subtree to the targets of what it holds itself, but sends
nothing before all that comes from j has come, because the subtree must get each publisher's runs in order.
"""

from regraft.broker.core.forwarding import Forwarding
from regraft.broker.core.tables import Tables
from regraft.protocol.messages import Run

SERVED = "!"
"""Prefix of a neighbour's name, as a target: a run that waits until it is known whether it goes there. No
broker's name begins with it."""
FORGETFUL = "!"
"""Prefix of a neighbour's name, as a source: the neighbour has crashed since, and sends the run again."""


class SubtreeRuns:
    """The runs that one broker holds, as far as changes of links concern them."""

    def __init__(self, tables: Tables, forwarding: Forwarding) -> None:
        self.tables = tables
        self.forwarding = forwarding

    # We are j

    def hand_over(self, i: str, k: str) -> None:
        """k has the subtree of i now: it gets what waits for the subtree, and counts as the source of what
        came from there."""
        for held in list(self.forwarding.store):
            from_subtree = held.sources[-1] == i
            held.rename(i, k)
            wanted = held.waiting.pop(i, None) is not None
            if from_subtree:
                held.waiting.pop(k, None)
            elif wanted and held.sources[-1] != k:
                held.waiting[k] = 0  # sent even if k has it: k may have left the subtree out (`add_target`)
            if not held.waiting:
                self.forwarding.complete(held)

    # We are k

    def add_target(self, name: str, old: str) -> None:
        """Runs that are held here and wanted behind `name` wait for it too, so that nothing is confirmed
        without it. If a run came by several ways, the last one decides.

        - From `old`: it may have been published in the subtree. Then the subtree sends it again, and must not
          get it from us before that. Or its publisher has moved from the subtree to behind `old`, which knows
          that, and sends it again (`arrived`); until then it is not confirmed.
        - From a peer that is gone (it was handed over to a client, or j has forgotten it), or on an earlier
          visit: it is not the next one of its stream there, which comes again."""
        behind = self._publishers(name)
        for held in list(self.forwarding.store):
            source = held.sources[-1]
            if name in held.sources or name in held.waiting or not self._is_there(source):
                continue
            if self.forwarding.store.stream(held.run.publisher).later(name, held.run.visit, source):
                continue
            if source == old and behind.get(held.run.publisher.partition("#")[0], True):
                held.waiting[SERVED + name] = 0
                continue
            for piece in self.forwarding.store.pieces(held):
                if name in self.forwarding.targets(piece.run.events[0], source):
                    piece.waiting[name] = 0

    def _is_there(self, source: str) -> bool:
        return source in self.forwarding.links or source in self.forwarding.sessions

    def _publishers(self, name: str) -> dict[str, bool]:
        """For every client that advertises: whether it does so behind this neighbour. Publications of a
        client that no longer advertises cannot be acknowledged."""
        behind: dict[str, bool] = {}
        for entry in self.tables.advertisements.values():
            behind[entry.client] = behind.get(entry.client, False) or entry.origin == name
        return behind

    def arrived(self, run: Run, i: str, j: str) -> None:
        """j sends this on its way to the subtree, even if we had it before."""
        stream = self.forwarding.store.stream(run.publisher)
        for seq, event in zip(run.seqs, run.events, strict=True):
            held = stream.find(seq)
            if held is None or i in held.waiting or i in held.sources:
                continue
            if i in self.forwarding.targets(event, j) and not stream.later(i, run.visit, j):
                stream.within(seq, seq)[0].waiting[i] = 0

    def await_again(self, i: str, j: str) -> None:
        """We are k: j has forgotten what it sent us, and what it had for the subtree alone. All of it comes
        again, in order, and nothing that comes by this way goes to the subtree before that."""
        for held in list(self.forwarding.store):
            if held.sources[-1] != j:
                continue
            held.sources[-1] = FORGETFUL + j
            held.waiting.pop(i, None)
            held.waiting.pop(SERVED + i, None)
            if not held.waiting:
                self.forwarding.complete(held)

    def served(self, i: str) -> None:
        """Everything that was on its way from j to the subtree has come, or j has forgotten it."""
        self.forwarding.forget(SERVED + i)
