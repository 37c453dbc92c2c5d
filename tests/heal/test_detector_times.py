"""The failure detector to the millisecond: when it asks, looks, suspects, and what it then waits for."""

from itertools import pairwise

import pytest

from regraft.heal.detection import DetectionTiming, Detector, Evidence, Ping, Probe, Suspect, Trust
from regraft.model import BadInput

TIMING = DetectionTiming(timer=0.03, busy=0.01, idle=0.25, probe=0.02)
ADAPTIVE = DetectionTiming(timer=0.03, adaptive=True, longest=0.5, busy=0.01, idle=0.25)


def watching(timing: DetectionTiming = TIMING, *names: str) -> Detector:
    detector = Detector(timing)
    for name in names or ("b",):
        detector.watch(name, 0.0)
    return detector


def asked(detector: Detector, now: float) -> list[int]:
    return [each.number for each in detector.tick(now) if isinstance(each, Ping)]


def test_questions_come_at_the_idle_or_the_busy_pace() -> None:
    detector = watching()
    assert detector.next_due() == 0.0
    assert asked(detector, 0.0) == [1]
    detector.heard("b", 1, 0.001)
    assert (detector.next_due(), asked(detector, 0.2499), asked(detector, 0.25)) == (0.03, [], [2])
    detector.heard("b", 2, 0.251)
    detector.busy("b", True)
    assert detector.next_due() == pytest.approx(0.26)
    assert asked(detector, 0.26) == [3]
    detector.heard("b", 3, 0.261)
    assert asked(detector, 0.27) == [4]


def test_a_neighbour_that_becomes_busy_is_not_asked_before_its_open_question_is_answered() -> None:
    detector = watching()
    detector.tick(0.0)
    detector.busy("b", True)
    assert asked(detector, 0.01) == []
    other = watching()
    other.busy("b", True)  # before the first tick
    assert other.next_due() == 0.0
    other.busy("unknown", True)
    other.forget("unknown")
    assert other.peers == {"b"}


def test_nobody_is_watched_and_nothing_is_due() -> None:
    detector = Detector()
    assert detector.next_due() is None
    assert detector.tick(5.0) == []
    assert detector.next_due() is None


def test_the_timer_runs_from_the_first_question_without_an_answer() -> None:
    detector = watching()
    detector.busy("b", True)
    assert asked(detector, 0.0) == [1]
    assert asked(detector, 0.01) == [2]
    assert detector.heard("b", 1, 0.015) == []
    assert asked(detector, 0.02) == [3]
    assert detector.next_due() == pytest.approx(0.03)
    assert [each for each in detector.tick(0.0399) if isinstance(each, Suspect)] == []
    effects = detector.tick(0.0401)
    assert effects[0] == Suspect("b", Evidence.SILENT, pytest.approx(0.0301))  # type: ignore[arg-type]
    assert Probe("b") in effects
    assert detector.suspected == {"b"}
    (again,) = detector.suspicions(0.05)
    assert again.peer == "b"
    assert again.waited == pytest.approx(0.04)
    assert [each for each in detector.tick(0.045) if isinstance(each, Suspect)] == [], "it is said once"
    assert detector.heard("b", 4, 0.05) == [Trust("b")]
    assert detector.suspected == set()
    assert detector.heard("b", 4, 0.05) == []


def test_looks_at_the_address_are_ever_rarer_until_it_answers() -> None:
    detector = watching()
    assert detector.lost("b", 1.0) == [Probe("b")]
    assert detector.lost("b", 1.01) == []
    looks, now = [1.0], 1.0
    while now < 2.0:
        due = detector.next_due()
        assert due is not None
        now = due
        looks += [now for each in detector.tick(now) if isinstance(each, Probe)]
    pauses = [round(b - a, 3) for a, b in pairwise(looks)]
    assert pauses[:6] == [0.02, 0.04, 0.08, 0.16, 0.25, 0.25]
    assert detector.back("b", now) == [Trust("b")]
    assert detector.next_due() == now
    assert not any(isinstance(each, Probe) for each in detector.tick(now + 0.02))
    assert detector.lost("b", 3.0) == [Probe("b")]
    assert [each for each in detector.tick(3.02) if isinstance(each, Probe)] == [Probe("b")], "begins anew"


def test_a_connection_is_lost_and_the_timer_begins_then_or_with_the_open_question() -> None:
    quiet = watching()
    quiet.tick(0.0)
    quiet.heard("b", 1, 0.001)
    quiet.tick(0.1)
    quiet.lost("b", 0.2)
    assert quiet.next_due() == pytest.approx(0.22)
    assert not [each for each in quiet.tick(0.2299) if isinstance(each, Suspect)]
    assert [each.waited for each in quiet.tick(0.23) if isinstance(each, Suspect)] == [pytest.approx(0.03)]
    waiting = watching()
    waiting.tick(0.0)
    waiting.lost("b", 0.02)
    assert [each.waited for each in waiting.tick(0.031) if isinstance(each, Suspect)] == [
        pytest.approx(0.031)
    ]


def test_where_messages_go_silence_before_the_loss_counts_but_no_more_than_the_timer() -> None:
    for heard, first in ((0.19, 0.19), (0.1, 0.17)):
        detector = watching()
        detector.busy("b", True)
        detector.tick(0.0)
        detector.heard("b", 1, heard)
        detector.lost("b", 0.2)
        (suspect,) = [each for each in detector.tick(0.25) if isinstance(each, Suspect)]
        assert suspect.waited == pytest.approx(0.25 - first)


def test_a_connection_that_is_there_again_is_a_sign_of_life() -> None:
    detector = watching()
    detector.busy("b", True)
    detector.lost("b", 0.0)
    detector.tick(1.0)
    detector.back("b", 2.0)
    detector.lost("b", 2.01)
    assert not [each for each in detector.tick(2.0299) if isinstance(each, Suspect)]
    assert [each for each in detector.tick(2.0301) if isinstance(each, Suspect)]


def test_a_sign_of_life_puts_the_next_question_off_and_answers_none() -> None:
    detector = watching()
    detector.tick(0.0)
    detector.heard("b", 1, 0.001)
    detector.sign("b", 0.2)
    assert asked(detector, 0.25) == []
    assert asked(detector, 0.45) == [2]
    detector.sign("b", 0.46)
    assert [each for each in detector.tick(0.48) if isinstance(each, Suspect)] == [
        Suspect("b", Evidence.SILENT, pytest.approx(0.03))  # type: ignore[arg-type]
    ]
    detector.sign("unknown", 0.5)
    detector.lost("b", 0.5)
    detector.sign("b", 0.51)  # of the connection that has ended
    assert detector.suspected == {"b"}
    busy = watching()
    busy.busy("b", True)
    busy.tick(0.0)
    busy.heard("b", 1, 0.001)
    busy.sign("b", 0.005)
    assert (asked(busy, 0.0149), asked(busy, 0.015)) == ([], [2])


def test_sixty_four_open_questions_are_kept() -> None:
    pace = 2.0**-7  # exact as a float
    detector = watching(DetectionTiming(timer=5.0, longest=9.0, busy=pace, idle=pace))
    assert [asked(detector, number * pace) for number in range(70)] == [[number + 1] for number in range(70)]
    now = 69 * pace
    detector.heard("b", 5, now)  # forgotten: nothing is measured, and the 64 later ones stay open
    while not detector.suspected:
        now = detector.next_due() or 0.0
        detector.tick(now)
    assert now == 6 * pace + 5.0


def test_the_adaptive_timer_follows_round_trips_as_tcp_does() -> None:
    detector = watching(ADAPTIVE)
    assert detector.timer("b") == 0.03
    mean = deviation = 0.0
    now = 0.0
    for number, trip in enumerate((0.02, 0.04, 0.01, 0.06), 1):
        assert asked(detector, now) == [number]
        detector.heard("b", number, now + trip)
        if mean:
            deviation += (abs(trip - mean) - deviation) / 4
            mean += (trip - mean) / 8
        else:
            mean, deviation = trip, trip / 2
        assert detector.timer("b") == pytest.approx(max(0.03, mean + 4 * deviation))
        now += 0.25
    assert watching().timer("b") == 0.03, "it is fixed unless it is adaptive"


def test_every_mistake_doubles_the_adaptive_timer_up_to_the_longest() -> None:
    detector = watching(ADAPTIVE)
    timers = []
    for _ in range(6):
        timers.append(detector.timer("b"))
        detector.lost("b", 0.0)
        detector.tick(10.0)
        assert detector.back("b", 10.0) == [Trust("b")]
    assert timers == [0.03, 0.06, 0.12, 0.24, 0.48, 0.5]
    detector.back("b", 11.0)
    assert detector.timer("b") == 0.5
    never = watching(ADAPTIVE)
    never.lost("b", 0.0)
    never.back("b", 0.01)  # it was not suspected yet: no mistake
    assert never.timer("b") == 0.03


def test_evidence_only_grows_until_the_peer_answers() -> None:
    detector = watching()
    assert detector.evidence("b", Evidence.GONE, 0.0) == [], "nothing speaks against it yet"
    assert detector.evidence("unknown", Evidence.GONE, 0.0) == []
    detector.lost("b", 0.0)
    assert detector.evidence("b", Evidence.UNREACHABLE, 0.01) == []
    (first,) = detector.evidence("b", Evidence.SILENT, 0.03)
    assert first == Suspect("b", Evidence.UNREACHABLE, 0.03)
    assert detector.evidence("b", Evidence.UNREACHABLE, 0.04) == []
    assert detector.evidence("b", Evidence.REFUSED, 0.05) == [Suspect("b", Evidence.REFUSED, 0.05)]
    detector.back("b", 0.06)
    detector.lost("b", 1.0)
    assert [each for each in detector.tick(1.03) if isinstance(each, Suspect)] == [
        Suspect("b", Evidence.SILENT, pytest.approx(0.03))  # type: ignore[arg-type]
    ]
    assert [each.hard for each in Evidence] == [False, False, True, True]


def test_time_in_which_this_process_did_not_run_is_given_to_connected_peers() -> None:
    detector = watching(TIMING, "b", "c")
    detector.tick(0.0)
    detector.lost("c", 0.0)
    effects = detector.tick(1.02)  # the look at c was due at 0.02: a second was slept
    assert [each.peer for each in effects if isinstance(each, Suspect)] == ["c"]
    detector.heard("b", 1, 1.021)
    effects = detector.tick(1.05)
    assert not [each for each in effects if isinstance(each, Suspect)]
    short = watching()
    short.tick(0.0)
    effects = short.tick(0.03 + 0.015)  # half a timer late: that may happen, and counts
    assert [each.peer for each in effects if isinstance(each, Suspect)] == ["b"]
    for late, suspects in ((0.0149, ["b"]), (0.0151, [])):
        busy = watching()
        busy.busy("b", True)
        busy.tick(0.0)
        busy.tick(0.01)
        effects = busy.tick(0.02 + late)  # a question was due
        assert [each.peer for each in effects if isinstance(each, Suspect)] == suspects


def test_a_peer_is_watched_once_and_forgotten_whole() -> None:
    detector = watching()
    detector.tick(0.0)
    detector.watch("b", 0.02)
    assert [each.peer for each in detector.tick(0.03) if isinstance(each, Suspect)] == ["b"]
    detector.forget("b")
    detector.forget("b")
    for effects in (detector.heard("b", 1, 0.1), detector.lost("b", 0.1), detector.back("b", 0.1)):
        assert effects == []
    assert detector.peers == set()
    assert detector.tick(0.2) == []


@pytest.mark.parametrize("name", ["timer", "busy", "idle", "probe"])
def test_a_time_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="times must be positive"):
        DetectionTiming(**{name: 0.0})  # type: ignore[arg-type]
    assert DetectionTiming(timer=2.0, longest=2.0).longest == 2.0
