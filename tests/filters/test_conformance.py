"""The published conformance cases of CloudEvents SQL (tests/data/cesql_tck/LICENCE.md)."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from regraft.filters import BadFilter, parse

KIT = Path(__file__).parent.parent / "data" / "cesql_tck"
EVENT = {
    "specversion": "1.0",
    "id": "A234-1234-1234",
    "source": "https://example.com/source",
    "type": "com.example.type",
}


def cases() -> list[Any]:
    found = []
    for file in sorted(KIT.glob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        # Some expressions, such as TRUE, are YAML values of another type; the plain loader keeps them text.
        plain = yaml.load(text, yaml.BaseLoader)["tests"]
        for case, raw in zip(yaml.safe_load(text)["tests"], plain, strict=True):
            case["expression"] = raw["expression"]
            found.append(pytest.param(case, id=f"{file.stem}: {raw['name']}"))
    return found


CASES = cases()


def event_of(case: dict[str, Any]) -> dict[str, Any]:
    return dict(case["event"]) if "event" in case else EVENT | case.get("eventOverrides", {})


def test_the_kit_is_there() -> None:
    assert len(CASES) == 143


@pytest.mark.parametrize("case", CASES)
def test_case_of_the_kit_holds(case: dict[str, Any]) -> None:
    if case.get("error") == "parse":
        with pytest.raises(BadFilter):
            parse(case["expression"])
        return
    value, fault = parse(case["expression"]).evaluate(event_of(case))
    assert fault == case.get("error")
    if "result" in case:
        assert (type(value), value) == (type(case["result"]), case["result"])


@pytest.mark.parametrize("case", [c for c in CASES if c.values[0].get("error") != "parse"])
def test_event_passes_only_if_the_result_is_true_without_error(case: dict[str, Any]) -> None:
    passes = case.get("result") is True and "error" not in case
    assert parse(case["expression"]).matches(event_of(case)) is passes
