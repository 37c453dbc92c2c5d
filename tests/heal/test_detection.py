"""The failure detector: when it suspects, when it does not, and what it says of it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regraft.heal.detection import (
    DetectionTiming,
    Detector,
    Effect,
    Evidence,
    Ping,
    Probe,
    Suspect,
    Trust,
    verdict,
)
from regraft.model import BadInput


class Neighbour:
    """Answers questions after a while; the detector's clock goes from one event to the next."""

    def __init__(self, timing: DetectionTiming, busy: bool = False) -> None:
        self.detector = Detector(timing)
        self.detector.watch("b", 0.0)
        self.detector.busy("b", busy)
        self.now = 0.0
        self.answers: list[tuple[float, int]] = []
        self.seen: list[Effect] = []

    def run(self, until: float, trip: float | None) -> list[Effect]:
        """`trip`: how long an answer takes; None: there is none."""
        start = len(self.seen)
        while True:
            due = self.detector.next_due()
            moments = [each for each in (due, *(at for at, _ in self.answers)) if each is not None]
            if not moments or min(moments) > until:
                break
            self.now = max(self.now, min(moments))
            for answer in sorted(each for each in self.answers if each[0] <= self.now):
                self.answers.remove(answer)
                self._take(self.detector.heard("b", answer[1], self.now), trip)
            self._take(self.detector.tick(self.now), trip)
        self.now = until
        return self.seen[start:]

    def _take(self, effects: list[Effect], trip: float | None) -> None:
        self.seen += effects
        if trip is not None:
            self.answers += [(self.now + trip, each.number) for each in effects if isinstance(each, Ping)]


def suspicions(effects: list[Effect]) -> list[Suspect]:
    return [each for each in effects if isinstance(each, Suspect)]


@settings(max_examples=25)
@given(st.floats(0.0001, 0.029), st.booleans())
def test_a_peer_that_answers_within_the_timer_is_never_suspected(trip: float, busy: bool) -> None:
    effects = Neighbour(DetectionTiming(), busy).run(3.0, trip)
    assert not suspicions(effects)
    assert len(effects) >= (250 if busy else 12)


@settings(max_examples=25)
@given(st.floats(0.0, 2.0), st.booleans())
def test_a_crash_is_noticed_within_one_question_and_the_timer(crash: float, busy: bool) -> None:
    timing = DetectionTiming()
    peer = Neighbour(timing, busy)
    assert not suspicions(peer.run(crash, 0.001))
    peer.answers = []
    (first, *more) = suspicions(peer.run(crash + 1.0, None))
    assert not more
    assert first.evidence is Evidence.SILENT
    asked = [each for each in peer.seen if isinstance(each, Ping)]
    assert asked
    assert first.waited == pytest.approx(timing.timer)


def test_a_lost_connection_starts_the_timer_and_a_look_at_the_address() -> None:
    detector = Detector(DetectionTiming(timer=0.03))
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.heard("b", 1, 0.001)
    assert detector.lost("b", 1.0) == [Probe("b")]
    assert detector.evidence("b", Evidence.REFUSED, 1.001) == []
    assert not suspicions(detector.tick(1.029))
    (suspicion,) = suspicions(detector.tick(1.03))
    assert suspicion.evidence is Evidence.REFUSED
    assert suspicion.waited == pytest.approx(0.03)
    assert detector.suspected == {"b"}


def test_where_messages_go_the_timer_runs_from_the_last_word() -> None:
    detector = Detector(DetectionTiming(timer=0.03, busy=0.01))
    detector.watch("b", 0.0)
    detector.busy("b", True)
    detector.tick(0.0)
    detector.heard("b", 1, 0.001)
    detector.sign("b", 0.004)
    detector.lost("b", 0.02)
    detector.evidence("b", Evidence.REFUSED, 0.021)
    assert not suspicions(detector.tick(0.033))
    (suspicion,) = suspicions(detector.tick(0.034))
    assert suspicion.waited == pytest.approx(0.03)


def test_stronger_evidence_is_reported_weaker_is_not() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.lost("b", 0.0)
    assert [each.evidence for each in suspicions(detector.tick(0.05))] == [Evidence.SILENT]
    told = [
        suspicion.evidence
        for evidence in (Evidence.UNREACHABLE, Evidence.SILENT, Evidence.GONE, Evidence.REFUSED)
        for suspicion in suspicions(detector.evidence("b", evidence, 0.1))
    ]
    assert told == [Evidence.UNREACHABLE, Evidence.GONE]


def test_evidence_against_a_peer_that_answers_is_ignored() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.heard("b", 1, 0.001)
    assert detector.evidence("b", Evidence.GONE, 0.002) == []
    assert not suspicions(detector.tick(0.2))


def test_recovery_is_noticed_and_the_next_crash_too() -> None:
    peer = Neighbour(DetectionTiming())
    peer.run(1.0, 0.001)
    assert suspicions(peer.run(2.0, None))
    assert [each for each in peer.run(3.0, 0.001) if isinstance(each, Trust)] == [Trust("b")]
    peer.answers = []
    assert suspicions(peer.run(4.0, None))


def test_a_new_connection_ends_the_suspicion() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.lost("b", 0.0)
    assert suspicions(detector.tick(0.04))
    assert detector.back("b", 0.05) == [Trust("b")]
    assert detector.suspected == frozenset()
    assert Ping("b", 2) in detector.tick(0.05)


def test_answers_of_a_connection_that_has_ended_do_not_count() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.lost("b", 0.001)
    assert detector.heard("b", 1, 0.002) == []
    assert suspicions(detector.tick(0.04))


@settings(max_examples=10)
@given(st.floats(0.05, 0.2))
def test_slow_is_not_dead_for_the_adaptive_timer(trip: float) -> None:
    """Whatever the bound of its answers is, mistakes end."""
    peer = Neighbour(DetectionTiming(adaptive=True), busy=True)
    mistakes = suspicions(peer.run(5.0, trip))
    assert 0 < len(mistakes) < 6
    assert not suspicions(peer.run(10.0, trip))
    assert len(suspicions(Neighbour(DetectionTiming(adaptive=False)).run(5.0, trip))) > 12


def test_time_in_which_the_detector_slept_does_not_count() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.busy("b", True)
    detector.tick(0.0)
    assert not suspicions(detector.tick(5.0))
    assert not suspicions(detector.heard("b", 2, 5.029))
    assert not suspicions(detector.tick(5.03))
    detector.lost("b", 6.0)
    assert suspicions(detector.tick(11.0)), "a lost connection is no matter of our sleep"


def test_busy_neighbours_are_asked_more_often() -> None:
    calm, busy = Neighbour(DetectionTiming()), Neighbour(DetectionTiming(), busy=True)
    assert len(calm.run(2.0, 0.001)) < 12
    assert len(busy.run(2.0, 0.001)) > 150


def test_a_peer_that_sends_by_itself_is_not_asked_but_an_open_question_counts() -> None:
    detector = Detector(DetectionTiming(idle=0.25))
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.heard("b", 1, 0.001)
    for moment in range(1, 20):
        detector.sign("b", moment / 10)
        assert detector.tick(moment / 10) == []
    assert detector.tick(2.2) == [Ping("b", 2)]
    detector.sign("b", 2.21)
    assert suspicions(detector.tick(2.23))


def test_a_forgotten_peer_is_not_suspected() -> None:
    detector = Detector()
    detector.watch("b", 0.0)
    detector.tick(0.0)
    detector.forget("b")
    assert detector.tick(1.0) == []
    assert detector.heard("b", 1, 1.0) == detector.lost("b", 1.0) == detector.back("b", 1.0) == []
    assert detector.next_due() is None


def test_the_group_tells_a_broken_link_from_a_dead_broker() -> None:
    assert verdict(Evidence.SILENT, {"c": True, "d": False}) == "link"
    assert verdict(Evidence.UNREACHABLE, {"c": False, "d": False}) == "unsure"
    assert verdict(Evidence.REFUSED, {"c": False}) == "broker"
    assert verdict(Evidence.GONE, {}) == "broker"


@pytest.mark.parametrize("timing", [{"timer": 0.0}, {"busy": -1.0}, {"timer": 3.0, "longest": 2.0}])
def test_impossible_times_are_refused(timing: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="timing"):
        DetectionTiming(**timing)
