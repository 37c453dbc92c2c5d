"""Numbers in messages, in one place so that no message says "1 steps"."""


def counted(number: int, name: str) -> str:
    """`1 step`, `2 steps`, `1,000 switches`."""
    several = f"{name}es" if name.endswith("ch") else f"{name}s"
    return f"{number:,} {name if number == 1 else several}"
