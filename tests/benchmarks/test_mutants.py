"""Mistakes that are planted: each is one small change, and is made wherever the function is kept."""

import ast
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from benchmarks._mutants_make import Place, mutant, places
from benchmarks._mutants_run import exchange, exchanged

SOURCE = '''"""A module."""
from functools import cache

LIMIT = 3


class Base:
    def note(self, seen):
        seen.append("base")


class Counter(Base):
    def __init__(self):
        self.total = 0

    @cache
    def small(self, number):
        """At most the limit."""
        return number <= LIMIT

    def note(self, seen):
        super().note(seen)
        self.total += 1


TABLE = {"small": Counter.small}
'''


def loaded(folder: Path) -> tuple[ModuleType, Path]:
    file = folder / "counted.py"
    file.write_text(SOURCE)
    spec = spec_from_file_location("counted", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, file


def test_the_mistakes_are_in_functions_and_leave_docstrings_and_first_values_alone() -> None:
    assert places(SOURCE) == [
        Place(9, "seen.append('base')", "if False: seen.append('base')"),
        Place(14, "0", "1"),
        Place(19, "number <= LIMIT", "number < LIMIT"),
        Place(22, "super().note(seen)", "if False: super().note(seen)"),
        Place(23, "1", "2"),
        Place(23, "self.total += 1", "if False: self.total += 1"),
    ]
    before = ast.unparse(ast.parse(SOURCE)).splitlines()
    for number in range(6):
        after = ast.unparse(mutant(SOURCE, number)).splitlines()
        assert 1 <= len(set(after) ^ set(before)) <= 3


def test_a_mistake_is_made_wherever_the_function_is_kept(tmp_path: Path) -> None:
    module, file = loaded(tmp_path)
    counter = module.Counter()
    pairs = exchanged(file, mutant(SOURCE, 2))
    assert [old.co_qualname for old, _ in pairs] == ["Counter.small"]
    exchange(pairs)
    assert (counter.small(3), counter.small(2)) == (False, True)
    assert module.TABLE["small"](counter, 3) is False


def test_a_method_that_no_longer_calls_the_one_above_it_is_exchanged_too(tmp_path: Path) -> None:
    module, file = loaded(tmp_path)
    exchange(exchanged(file, mutant(SOURCE, 3)))
    counter, seen = module.Counter(), list[str]()
    counter.note(seen)
    assert (seen, counter.total) == ([], 1)


def test_without_a_mistake_nothing_is_exchanged(tmp_path: Path) -> None:
    _, file = loaded(tmp_path)
    assert exchanged(file, ast.parse(SOURCE)) == []
