"""The file that `regraft init` writes: every key, with what it means and its default."""

import json
import textwrap

from regraft.app.configuration_keys import SECTIONS, Scalar

WIDTH = 100
HEAD = """# Regraft: the loop that keeps a publish/subscribe network in the shape that its traffic needs.
# Started with `regraft serve`; `regraft doctor` checks this file and the machine. All keys stand here with
# their defaults: what is left out is as it is here. docs/configuration.md explains more.
"""


def starter(changes: dict[tuple[str, str], Scalar] | None = None) -> str:
    """`changes`: values that are known already, by section and key."""
    lines = [HEAD]
    for name, section in SECTIONS.items():
        lines += _comment(section.about)
        lines.append(f"[{name}]")
        for key, known in section.keys.items():
            lines += _comment(known.about)
            lines.append(f"{key} = {toml((changes or {}).get((name, key), known.default))}")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def toml(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
