"""Filter parser under a coverage-guided fuzzer (atheris): only BadFilter may come out.

What parses is checked further: its text is the same filter again, the compiled test agrees with the
reference evaluation and with the normal form, and it covers itself. Exit code 1 with the text if not.
"""

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regraft.filters import BadFilter, Filter, covers, overlaps, parse
from regraft.filters.compiled import compiled
from regraft.filters.values import truth_of

EVENTS: tuple[dict[str, Any], ...] = (
    {},
    {"a": 1, "b": "x", "c": True},
    {"a": "007", "b": 2.5, "c": "false"},
    {"a": -3.25, "b": False, "c": ""},
)
SEEDS = (
    b"topic = 'temp' AND value > 20",
    b"NOT EXISTS a OR a NOT IN (1, '2', 3.5) XOR b LIKE '%x\\\\_'",
    b"-LENGTH(CONCAT_WS(',', a, \"b\")) * 2 / (c % 3) <> +7",
)
# The words of the language, so that the fuzzer need not find them letter by letter.
WORDS = (
    "AND",
    "OR",
    "XOR",
    "NOT",
    "LIKE",
    "IN",
    "EXISTS",
    "TRUE",
    "FALSE",
    "<>",
    "!=",
    "<=",
    ">=",
    "SUBSTRING",
)


def check(text: str) -> None:
    try:
        f = parse(text)
    except BadFilter as bad:
        if "\n" in str(bad):
            raise AssertionError(f"more than one line: {bad}") from bad
        return
    again = parse(str(f))
    if again != f or again.node != f.node or not covers(f, again) or overlaps(f, again) != bool(f.normal):
        raise AssertionError(f"not itself: {text!r}")
    fast = compiled(f.node)
    for event in EVENTS:
        value, fault = f.evaluate(event)
        expected = value is True and fault is None
        if (
            f.matches(event) is not expected
            or fast(event) is not expected
            or _by_normal_form(f, event) is not expected
        ):
            raise AssertionError(f"matching differs on {event}: {text!r}")


def _by_normal_form(f: Filter, event: dict[str, Any]) -> bool:
    def outcome(text: str) -> bool | None:
        value, fault = parse(text).evaluate(event)
        return None if fault else truth_of(value)

    return any(
        c.allows(event) and all(outcome(text) is wanted for text, wanted in c.residue) for c in f.normal
    )


def main() -> int:
    options = argparse.ArgumentParser(prog="scripts/bench fuzz_filters", description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if find_spec("atheris") is None:
        print("fuzz_filters: needs atheris, which is not installed here (it has no wheel for every system)")
        return 2
    if chosen.folder is not None:
        fuzz(chosen.folder, chosen.seconds, chosen.seed)
    # The fuzzer ends its process without tidying up, so it gets one of its own.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.fuzz_filters", "--folder", folder]
        command += ["--seconds", str(chosen.seconds), "--seed", str(chosen.seed)]
        return min(subprocess.run(command, check=False).returncode, 1)


def fuzz(folder: Path, seconds: int, seed: int) -> None:
    """Does not return."""
    atheris: Any = import_module("atheris")
    corpus, words = folder / "corpus", folder / "words"
    corpus.mkdir()
    for i, text in enumerate(SEEDS):
        (corpus / str(i)).write_bytes(text)
    words.write_text("".join(f'"{word} "\n' for word in WORDS), encoding="utf-8")
    atheris.instrument_all()
    settings = [
        f"-dict={words}",
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], str(corpus), "-max_len=400", "-print_final_stats=1", *settings], one_input)
    atheris.Fuzz()


def one_input(data: bytes) -> None:
    check(data.decode("utf-8", "replace"))


if __name__ == "__main__":
    sys.exit(main())
