"""The reference of all keys in Markdown, as docs/configuration.md has it: made, so it can not be behind."""

from regraft.app.configuration_keys import SECTIONS
from regraft.app.starter import toml


def reference() -> str:
    """One table for each section."""
    parts = []
    for name, section in SECTIONS.items():
        rows = [
            f"| `{key}` | {_cell(known.kind.expected)} | `{toml(known.default)}` | {_cell(known.about)} |"
            for key, known in section.keys.items()
        ]
        head = ["| key | expected | default | meaning |", "|---|---|---|---|"]
        parts.append("\n".join([f"### [{name}]", "", _cell(section.about), "", *head, *rows]))
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
