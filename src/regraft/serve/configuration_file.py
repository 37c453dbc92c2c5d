"""The configuration file: read with checks, written as a starter file, rendered as a reference.

All three follow the declarations in `configuration`. This module knows no section and no key by name, except
the audit log, whose default depends on another key. A wrong key or value is `BadInput` with the line, what
was expected and what was found.
"""

import json
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from regraft.model import BadInput
from regraft.model.fields import meant
from regraft.model.files import as_text, read_bytes
from regraft.model.setting_kinds import PLACE, Written, keys_of, secrets_of, shown
from regraft.model.store import located
from regraft.serve.configuration import ServeConfiguration

SECTIONS: dict[str, Any] = get_type_hints(ServeConfiguration)
WIDTH = 100
HEAD = """# Regraft: the loop that keeps a publish/subscribe network in the shape that its traffic needs.
# Started with `regraft serve`; `regraft doctor` checks this file and the machine. All keys are here with
# their defaults: a key that is left out has the value shown here. docs/configuration.md explains more.
"""


def read_configuration(path: Path, environment: Mapping[str, str]) -> ServeConfiguration:
    """The configuration of a file; `BadInput` names the line, what was expected and what was found."""
    content = as_text(read_bytes(path))
    try:
        document = tomllib.loads(content)
    except (ValueError, RecursionError) as fault:  # also: a number with thousands of digits
        raise BadInput(str(path), f"is not TOML: {fault}") from None
    try:
        return configured(document, path.absolute().parent, environment, _Lines(content))
    except BadInput as fault:
        raise fault.within(str(path)) from None


def configured(
    document: Mapping[str, Any],
    folder: Path,
    environment: Mapping[str, str],
    lines: "_Lines | None" = None,
) -> ServeConfiguration:
    """The configuration that a document of sections describes; relative paths start at the folder."""
    lines = lines or _Lines("")
    given = {}
    for name, content in document.items():
        if name not in SECTIONS:
            rule = f"expected one of the sections {', '.join(SECTIONS)}{meant(name, SECTIONS)}"
            raise BadInput(f"{lines.of(name)}[{name}]", rule)
        if not isinstance(content, dict):
            raise BadInput(f"{lines.of(name)}{name}", f"expected a section [{name}], found {shown(content)}")
        given[name] = _values(name, content, lines)
    found = ServeConfiguration(
        **{
            name: _section(section, given.get(name, {}), folder, environment)
            for name, section in SECTIONS.items()
        }
    )
    audit_log = found.web.audit_log or found.state.folder / "audit.ndjson"
    return replace(found, web=replace(found.web, audit_log=audit_log))


def _values(name: str, content: Mapping[str, Any], lines: "_Lines") -> dict[str, Any]:
    keys, values = keys_of(SECTIONS[name]), {}
    for key, written in content.items():
        place = f"{lines.of(name, key)}{name}.{key}"
        if key not in keys:
            raise BadInput(place, f"expected one of {', '.join(keys)}{meant(key, keys)}")
        values[key] = keys[key].kind.value(written, place)
    return values


def _section(section: Any, values: dict[str, Any], folder: Path, environment: Mapping[str, str]) -> Any:
    secrets = {name: environment.get(variable, "") for name, variable in secrets_of(section).items()}
    found = section(**values, **secrets)
    paths = {name: folder / value for name, value in vars(found).items() if isinstance(value, Path)}
    places = {
        name: located(getattr(found, name), folder)
        for name, key in keys_of(section).items()
        if key.kind is PLACE
    }
    return replace(found, **paths, **places)


class _Lines:
    """Line numbers of sections and keys, which TOML's reader does not report."""

    def __init__(self, content: str) -> None:
        self._found: dict[tuple[str, str], int] = {}
        section = ""
        for number, line in enumerate(content.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                section = stripped.strip("[]").split("]")[0].strip()
                self._found.setdefault((section, ""), number)
            elif "=" in stripped and not stripped.startswith("#"):
                name = stripped.partition("=")[0].strip().strip("\"'")
                self._found.setdefault((section, name) if section else (name, ""), number)

    def of(self, section: str, key: str = "") -> str:
        number = self._found.get((section, key)) or self._found.get((f"{section}.{key}", ""))
        return f"line {number}, " if number else ""


def starter(changes: Mapping[tuple[str, str], Written] | None = None) -> str:
    """The file that `regraft init` writes: every key with its documentation and its default, or with the
    value that `changes` has for its section and name."""
    lines = [HEAD]
    for name, section in SECTIONS.items():
        lines += [*_comment(_about(section)), f"[{name}]"]
        for key, known in keys_of(section).items():
            value = (changes or {}).get((name, key), known.default)
            lines += [*_comment(known.about), f"{key} = {_toml(value)}"]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def reference() -> str:
    """All keys in Markdown, one table for each section, as docs/configuration.md has them."""
    parts = []
    for name, section in SECTIONS.items():
        rows = [
            f"| `{key}` | {_cell(known.kind.expected)} | `{_toml(known.default)}` | {_cell(known.about)} |"
            for key, known in keys_of(section).items()
        ]
        head = ["| key | expected | default | meaning |", "|---|---|---|---|"]
        parts.append("\n".join([f"### [{name}]", "", _cell(_about(section)), "", *head, *rows]))
    return "\n\n".join(parts) + "\n"


def _about(section: Any) -> str:
    return " ".join(section.__doc__.split())


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _toml(value: Written) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
