"""Where the picture of a diagram is: named by its text, so a changed diagram has none until it is drawn."""

import hashlib
from pathlib import Path

DIAGRAMS = Path(__file__).parent.parent / "diagrams"


def picture(diagram: str) -> Path:
    return DIAGRAMS / f"{hashlib.sha256(diagram.strip().encode()).hexdigest()[:16]}.svg"
