"""The component of the tests: it counts, and it misbehaves when it is asked to. Packed as `probe.py`."""

import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any


class Probe:
    def __init__(self, state: dict[str, Any], context: Any) -> None:
        self.state, self.context = state, context
        state.setdefault("n", 0)
        state.setdefault("steps", [])
        state.setdefault("moves", 0)

    def before_move(self) -> None:
        self.state["moves"] += 1

    def add(self, k: int = 1) -> int:
        self.state["n"] += k
        return int(self.state["n"])

    def read(self) -> dict[str, Any]:
        return {**self.state, "place": self.context.place, "origin": self.context.origin}

    def slow(self, seconds: float) -> int:
        time.sleep(seconds)
        return self.add()

    def task(self, progress: dict[str, Any], steps: int, seconds: float = 0.01) -> Generator[None, None, str]:
        progress.setdefault("done", 0)
        while progress["done"] < steps:
            time.sleep(seconds)
            self.state["steps"].append(progress["done"])
            progress["done"] += 1
            yield
        return str(self.context.place)

    def stuck_task(self, progress: dict[str, Any]) -> Iterator[None]:
        while True:
            if progress:
                yield

    def ask(self, name: str, times: int) -> int:
        for _ in range(times):
            found = self.context.call(name, "add")
        return int(found)

    def raises(self) -> None:
        self.state["n"] += 1000
        raise ValueError("two\nlines")

    def endless(self) -> None:
        self.state["n"] += 1000
        while True:
            pass

    def flood(self) -> int:
        self.state["n"] += 1000
        return len([bytes(1 << 20) for _ in range(100_000)])

    def garbage(self) -> None:
        os.write(int(sys.argv[1]), b"\x00\x00\x00\x04what")
        time.sleep(10)

    def huge_frame(self) -> None:
        os.write(int(sys.argv[1]), b"\xff" * 100)
        time.sleep(10)

    def exit(self) -> None:
        os._exit(3)

    def killed(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def bad_state(self) -> None:
        self.state["n"] = {1, 2}

    def big_state(self, size: int) -> None:
        self.state["blob"] = bytes(size)

    def prints(self) -> int:
        print("words on standard output", flush=True)
        return len(self.context.resource("probe.py"))

    def opens_files(self) -> int:
        return len([open(os.devnull) for _ in range(1000)])
