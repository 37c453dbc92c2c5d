"""Designs: meshes for topics (kTCO) and trees for traffic (OCBR), against what was promised and printed.

Prints one table (Markdown) to standard output: what was promised, what was measured. Progress goes to
standard error. `--part` picks some, `--quick` runs smaller ones, `--data FOLDER` says where the real
interest data (`interest`) and the networks of others (`steinlib`, …) are; without it those parts say so.
The part `mesh-printed` is `regraft lab ktco`: it draws kTCO's figures, too.
"""

import argparse
from pathlib import Path

from benchmarks import _design_mesh, _design_ocbr
from benchmarks._table import show
from rich.console import Console

from regraft.design.ocbr.warm import warm as warm_trees
from regraft.design.warm import warm as warm_meshes

PARTS = {**_design_mesh.PARTS, **_design_ocbr.PARTS}


def main() -> None:
    options = arguments().parse_args()
    chosen = options.part or list(PARTS)
    log = Console(stderr=True, highlight=False).log
    bench = _design_ocbr.Bench(options.data, options.quick, log, options.only, options.pictures)
    if not _design_mesh.PARTS.keys().isdisjoint(chosen):
        warm_meshes()
    if not _design_ocbr.PARTS.keys().isdisjoint(chosen):
        warm_trees()
    lines = (line for name in chosen for line in PARTS[name](bench))
    show(lines, "quick" if options.quick else "full", options.out, quick=options.quick)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/bench design", description=__doc__)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this; may be repeated")
    parser.add_argument("--only", default="", metavar="TEXT", help="of long parts, lines that hold this text")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, less time")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the data of others is")
    parser.add_argument(
        "--pictures",
        type=Path,
        metavar="FOLDER",
        default=_design_ocbr.Bench._field_defaults["pictures"],
        help="kTCO's figures go there, with their tables (default: %(default)s)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything measured as JSON")
    return parser


if __name__ == "__main__":
    main()
