"""What the pages take from the program when the site is built, so that it cannot go stale.

    {commands}   the help of every command, as `regraft COMMAND --help-all` prints it
    {api}        every operation of the REST API, from its OpenAPI document
    mermaid      the picture of a diagram, drawn before by `scripts/docs --draw`

A diagram whose picture is missing is a warning, and a warning ends the build.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import click
from diagram_files import picture
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from regraft.cli.entry import main
from regraft.cli.help_headings import full_help
from regraft.web.application import application
from regraft.web.settings import WebSettings

log = logging.getLogger(__name__)
WIDTH = 88
"""So wide is the column of text."""
METHODS = ("get", "post", "put", "patch", "delete")


class Mermaid(SphinxDirective):
    has_content = True

    def run(self) -> list[nodes.Node]:
        file = picture("\n".join(self.content))
        if not file.exists():
            log.warning(
                "a diagram has no picture; scripts/docs --draw makes it", location=self.get_location()
            )
        folder = Path(self.env.doc2path(self.env.docname)).parent
        up = "../" * len(folder.relative_to(self.env.srcdir).parts)
        return [nodes.image(uri=f"{up}diagrams/{file.name}", alt="Diagram", classes=["diagram"])]


def section(name: str, title: nodes.Node, *content: nodes.Node) -> nodes.section:
    made = nodes.section("", nodes.title("", "", title), *content, ids=[nodes.make_id(name)])
    return made


def literal(text: str, language: str = "none") -> nodes.literal_block:
    block = nodes.literal_block(text, text)
    block["language"] = language
    return block


def code(text: str) -> nodes.literal:
    return nodes.literal(text, text)


class Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [
            section(path, code(path), literal(help_text)) for path, help_text in helps(main, "regraft", None)
        ]


def helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Every command below, and itself."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **command.context_settings,
    )
    yield context.command_path, full_help(context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None
            yield from helps(below, each, context)


class Api(SphinxDirective):
    option_spec: ClassVar = {"schemas": directives.flag}

    def run(self) -> list[nodes.Node]:
        document = openapi()
        found: list[nodes.Node] = [
            section(f"{method} {path}", code(f"{method.upper()} {path}"), *described(operation))
            for path, item in document["paths"].items()
            for method, operation in item.items()
            if method in METHODS
        ]
        if "schemas" in self.options:
            schemas = document.get("components", {}).get("schemas", {})
            values = [
                section(
                    f"schema {name}", code(name), literal(json.dumps(schema, indent=2, ensure_ascii=False))
                )
                for name, schema in sorted(schemas.items())
            ]
            found.append(section("schemas", nodes.Text("Values"), *values))
        return found


def openapi() -> dict[str, Any]:
    # The document depends on neither: it says what can be asked, and nothing is asked here.
    document: dict[str, Any] = application(Mock(), WebSettings()).openapi()
    return document


def described(operation: dict[str, Any]) -> list[nodes.Node]:
    """Refusals are the same everywhere, and are on the page that explains the API."""
    text = operation.get("description") or operation.get("summary", "")
    found: list[nodes.Node] = [nodes.paragraph("", "", *inline(text))]
    items = [
        nodes.list_item("", nodes.paragraph("", "", code(each["name"]), nodes.Text(parameter(each))))
        for each in operation.get("parameters", [])
    ]
    if body := operation.get("requestBody"):
        kinds = ", ".join(reference(each.get("schema", {})) for each in body["content"].values())
        items.append(nodes.list_item("", nodes.paragraph("", "", nodes.Text(f"Body: {kinds}"))))
    for status, answer in operation.get("responses", {}).items():
        if not status.startswith("2"):
            continue
        kinds = ", ".join(
            reference(each.get("schema", {})) for each in answer.get("content", {}).values() if each
        )
        said = f": {answer.get('description', '')}" + (f" ({kinds})" if kinds else "")
        items.append(nodes.list_item("", nodes.paragraph("", "", code(status), nodes.Text(said))))
    if items:
        found.append(nodes.bullet_list("", *items))
    return found


def parameter(each: dict[str, Any]) -> str:
    needed = ", needed" if each.get("required") else ""
    about = f": {each['description']}" if each.get("description") else ""
    return f" ({each['in']}{needed}){about}"


def reference(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "items" in schema:
        return f"list of {reference(schema['items'])}"
    return str(schema.get("title") or schema.get("type") or "any")


def inline(text: str) -> list[nodes.Node]:
    """`code` is the one mark that the texts of the API use."""
    parts = re.split(r"`([^`]+)`", text)
    return [code(part) if number % 2 else nodes.Text(part) for number, part in enumerate(parts)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("mermaid", Mermaid)
    app.add_directive("commands", Commands)
    app.add_directive("api", Api)
    app.connect("build-finished", write_openapi)
    return {"parallel_read_safe": True}


def write_openapi(app: Sphinx, fault: Exception | None) -> None:
    """Beside the pages, for programs."""
    if fault is None and app.builder.format == "html":
        (Path(app.outdir) / "openapi.json").write_text(json.dumps(openapi(), indent=1), encoding="utf-8")
