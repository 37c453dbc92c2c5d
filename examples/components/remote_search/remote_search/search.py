"""An inverted index, ranked by tf-idf. Indexing many documents is a task, which goes on after a move."""

import math
from collections import Counter
from collections.abc import Generator
from typing import Any

from remote_search.words import words


class Search:
    def __init__(self, state: dict[str, Any], context: Any) -> None:
        self.state, self.context = state, context
        for field, first in (("documents", {}), ("postings", {}), ("release", "1.0")):
            state.setdefault(field, first)

    def add(self, name: str, text: str) -> None:
        self.remove(name)
        counts = Counter(words(text))
        self.state["documents"][name] = sum(counts.values())
        for word, count in counts.items():
            self.state["postings"].setdefault(word, {})[name] = count

    def remove(self, name: str) -> None:
        if self.state["documents"].pop(name, None) is not None:
            for found in self.state["postings"].values():
                found.pop(name, None)

    def index(self, progress: dict[str, Any], documents: dict[str, str]) -> Generator[None, None, int]:
        """A task: one document a step."""
        names = sorted(documents)
        progress.setdefault("done", 0)
        while progress["done"] < len(names):
            name = names[progress["done"]]
            self.add(name, documents[name])
            progress["done"] += 1
            yield
        return len(names)

    def search(self, text: str, most: int = 10) -> list[list[Any]]:
        """Names and scores, the best first."""
        total = len(self.state["documents"])
        scores: Counter[str] = Counter()
        for word in words(text):
            found = self.state["postings"].get(word, {})
            for name, count in found.items():
                scores[name] += count / self.state["documents"][name] * math.log(1 + total / len(found))
        ranked = sorted(scores.items(), key=lambda each: (-each[1], each[0]))
        return [[name, round(score, 6)] for name, score in ranked[:most]]

    def gather(self, text: str, others: list[str], most: int = 10) -> list[list[Any]]:
        """Here and at other searches, wherever they are."""
        found = dict(self.search(text, most))
        for other in others:
            found.update(self.context.call(other, "search", text, most))
        ranked = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        return [list(each) for each in ranked[:most]]

    def where(self) -> str:
        return self.context.place

    def update(self, release: str, settings: dict[str, Any]) -> str:
        self.state["release"] = release
        return release
