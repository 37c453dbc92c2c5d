from collections import Counter

import pytest
from benchmarks._hostile_attacks import ATTACKS, CONTROL, Attack
from benchmarks._hostile_broker import closed
from benchmarks._hostile_enemy import plain
from benchmarks.hostile import GROWTH, Trial, judged, lines

CUT_OFF = Attack("an attack", lambda enemy: None, True)
BORNE = CUT_OFF._replace(cut_off=False)
REASONS = Counter({"too much": 3})
FINE = Trial(1_900.0, 0, GROWTH, strikes=3, closed=REASONS)


def met(*trials: Trial, attack: Attack = CUT_OFF) -> bool | None:
    return judged(attack, trials, p99_us=1_000.0, peak=0).met


class TestJudged:
    def test_twice_the_p99_and_bounded_memory_are_what_was_promised(self) -> None:
        assert met(FINE)

    @pytest.mark.parametrize(
        "worse",
        [
            FINE._replace(p99_us=2_001.0),
            FINE._replace(flaws=1),
            FINE._replace(peak=GROWTH + 1),
            FINE._replace(broken="the broker ended"),
        ],
    )
    def test_a_slower_or_broken_conversation_or_more_memory_is_not(self, worse: Trial) -> None:
        assert met(worse) is False

    def test_who_must_be_cut_off_and_is_not_breaks_the_promise(self) -> None:
        assert met(FINE._replace(closed=Counter())) is False
        assert met(FINE._replace(closed=Counter()), attack=BORNE)

    def test_a_reason_that_only_the_peer_was_told_counts(self) -> None:
        assert met(FINE._replace(closed=Counter(), told=REASONS))

    def test_one_slow_trial_of_three_is_forgiven_but_one_lost_message_is_not(self) -> None:
        assert met(FINE, FINE, FINE._replace(p99_us=90_000.0))
        assert met(FINE, FINE, FINE._replace(flaws=1)) is False

    def test_a_slow_machine_is_slow_without_an_attack_too(self) -> None:
        assert met(FINE._replace(p99_us=90_000.0, calm_us=50_000.0))
        assert met(FINE._replace(p99_us=1_500.0, calm_us=500.0)) is False

    def test_the_row_says_why_peers_were_cut_off_without_breaking_the_table(self) -> None:
        shown = judged(CUT_OFF, [FINE._replace(closed=Counter({"a|b\nc": 2}))], 1_000.0, 0).measured
        assert "cut off 2 times: “a/b c”" in shown


def test_the_control_promises_nothing() -> None:
    assert CONTROL in ATTACKS
    first, control = lines([FINE], {CONTROL: [FINE._replace(p99_us=90_000.0)]})
    assert first.met is True
    assert control.met is None


def test_reasons_are_read_from_the_broker_s_log() -> None:
    log = (
        "regraft.broker: b0 closed connection 2: no hello within 1 seconds\n"
        "regraft.broker: b0 closed connection 3: the session has ended\n"
        "regraft.broker: b0 closed connection 14: no hello within 1 seconds\n"
    )
    assert closed(log) == Counter({"no hello within 1 seconds": 2})


def test_reasons_for_different_names_are_the_same_and_short() -> None:
    assert plain("enemy-12-7 is\n bad") == plain("enemy-12-8 is bad") == "enemy is bad"
    assert len(plain("x" * 1000)) == 90
