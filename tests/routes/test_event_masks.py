"""Masks of a workload: what publishers say and switches want, over common atoms."""

from regraft.filters.dz import DzSet
from regraft.routes.event_masks import event_masks


def test_switches_want_what_their_subscribers_want_together() -> None:
    subscribed = (DzSet(["00"]), DzSet(["011"]), DzSet(["1"]))
    events = event_masks((DzSet(["0"]),), subscribed, (2, 2, 0), 3)
    parts = [events.atoms.part(mask) for mask in events.wants_at]
    assert parts == [DzSet(["1"]), DzSet(), DzSet(["00", "011"])]
    assert events.atoms.part(events.advertised[0] & events.subscribed[1]) == DzSet(["011"])


def test_further_parts_can_be_made_expressible() -> None:
    said, region = (DzSet(["0"]),), DzSet(["0101"])
    assert not event_masks(said, (), (), 1).atoms.divides(region)
    events = event_masks(said, (), (), 1, also=(region,))
    assert events.atoms.divides(region)
    assert events.atoms.part(events.atoms.mask(region)) == region
