"""An inverted index, ranked by tf-idf. Indexing many documents is a task, which goes on after a move."""

import math
from collections import Counter

from remote_search.words import words


class Search:
    def __init__(self, state, context):
        self.state, self.context = state, context
        for field, first in (("documents", {}), ("postings", {}), ("release", "1.0")):
            state.setdefault(field, first)

    def add(self, name, text):
        self.remove(name)
        counts = Counter(words(text))
        self.state["documents"][name] = sum(counts.values())
        for word, count in counts.items():
            self.state["postings"].setdefault(word, {})[name] = count

    def remove(self, name):
        if self.state["documents"].pop(name, None) is not None:
            for found in self.state["postings"].values():
                found.pop(name, None)

    def index(self, progress, documents):
        """A task: one document a step."""
        names = sorted(documents)
        progress.setdefault("done", 0)
        while progress["done"] < len(names):
            name = names[progress["done"]]
            self.add(name, documents[name])
            progress["done"] += 1
            yield
        return len(names)

    def search(self, text, most=10):
        """Names and scores, the best first."""
        total = len(self.state["documents"])
        scores = Counter()
        for word in words(text):
            found = self.state["postings"].get(word, {})
            for name, count in found.items():
                scores[name] += count / self.state["documents"][name] * math.log(1 + total / len(found))
        ranked = sorted(scores.items(), key=lambda each: (-each[1], each[0]))
        return [[name, round(score, 6)] for name, score in ranked[:most]]

    def gather(self, text, others, most=10):
        """Here and at other searches, wherever they are."""
        found = dict(self.search(text, most))
        for other in others:
            found.update(self.context.call(other, "search", text, most))
        ranked = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        return [list(each) for each in ranked[:most]]

    def where(self):
        return self.context.place

    def update(self, release, settings):
        self.state["release"] = release
        return release
