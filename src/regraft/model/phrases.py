"""How numbers are said to people. One place, so that "1 steps" is said nowhere."""


def counted(number: int, name: str) -> str:
    """`1 step`, `2 steps`, `1,000 switches`."""
    several = f"{name}es" if name.endswith("ch") else f"{name}s"
    return f"{number:,} {name if number == 1 else several}"
