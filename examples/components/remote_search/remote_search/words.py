"""Text → words that are looked for."""

import re

COMMON = frozenset(["a", "an", "and", "in", "is", "it", "of", "or", "the", "to"])


def words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in COMMON]
