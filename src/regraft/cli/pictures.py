"""What all pictures share: their formats, the settings of matplotlib, and how a figure is written."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regraft.model import BadInput
from regraft.model.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
MOST_NODES = 400
SETTINGS: Any = {"svg.hashsalt": "regraft", "text.parse_math": False, "font.size": 8}
"""The same input gives the same bytes, and `$` in an id is no formula."""
PAPER = "#fbfcfd"


def check_size(nodes: int, kind: str, path: Path) -> None:
    """Refuse what no picture can show. `kind`: what the nodes are called."""
    if nodes > MOST_NODES:
        rule = f"a picture of more than {MOST_NODES} {kind} would show nothing; none is drawn"
        raise BadInput(str(path), rule)


def write_figure(figure: "Figure", path: Path) -> None:
    """Write SVG, PNG or PDF by the suffix of the path; SVG without the date, which would always differ."""
    content = io.BytesIO()
    suffix = path.suffix.lower().removeprefix(".")
    metadata: dict[str, Any] = {"Date": None} if suffix == "svg" else {}
    figure.savefig(content, format=suffix, dpi=130, metadata=metadata)
    write_bytes(path, content.getvalue())
