"""Soft: brokers carry about the same load; the largest against the average (Mimosa Pudica §4.3, overload)."""

from dataclasses import dataclass

from regraft.loop.goals.goal import Limits, Seen, Verdict, small


@dataclass(frozen=True)
class Balance:
    name: str = "balance"
    hard: bool = False

    def judge(self, seen: Seen, limits: Limits) -> Verdict | None:
        balance = seen.number("broker_load_balance")
        return small(
            self.name,
            "the largest load of a broker, in units of the average,",
            1 / balance if balance else None,
        )
