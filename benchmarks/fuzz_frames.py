"""Frame decoder and broker core under a coverage-guided fuzzer (atheris): only refusals may come out.

The bytes are read as the frames of a peer, cut at places that they choose themselves; what they say goes
to a broker's core, once as a client's words and once as a neighbour's. Exit code 1 if anything but a
refusal happens.
"""

import argparse
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regraft.broker.core import Broker
from regraft.protocol.events import Event, encode
from regraft.protocol.messages import (
    Advertise,
    AnyMessage,
    Bye,
    ClientHello,
    Confirm,
    LinkHello,
    Run,
    Settled,
    Subscribe,
    Update,
    Withdraw,
)
from regraft.wire.frames import BadFrame
from regraft.wire.numbered import Reader, Wire

LIMIT = 65536
EVENT = encode(Event({"a": 1, "b": "x"}, b"data"))
HELLOS: tuple[AnyMessage, ...] = (
    ClientHello("c", [("a1", "TRUE")], [("s1", "a > 0")]),
    LinkHello("n", 1),
)
SEEDS: tuple[list[AnyMessage], ...] = (
    [Run("c#1", [1, 2], [EVENT, EVENT], 5), Confirm("c#1", [1, 2])],
    [Subscribe("s2", "a = 1"), Advertise("a2", "b = 'x'"), Withdraw("s2"), Bye("so long")],
    [Update([("n/x/a", "TRUE")], [("n/x/s", "a > 3")], [], [], True, True), Settled()],
)


def one_input(data: bytes) -> None:
    if len(data) < 2:
        return
    hello, cut = HELLOS[data[0] % 2], data[1]
    broker, reader = Broker("b", ["n"]), Reader(Wire(LIMIT))
    broker.received(1, [hello], 0.0)
    frames = data[2:]
    try:
        for part in (frames[:cut], frames[cut:]):
            broker.received(1, reader.messages(part), 1.0)
    except BadFrame as fault:
        if "\n" in str(fault):
            raise AssertionError(f"more than one line: {fault}") from fault
    broker.tick(2.0)
    broker.closed(1, 3.0)


def main() -> int:
    options = argparse.ArgumentParser(prog="scripts/bench fuzz_frames", description=__doc__)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if find_spec("atheris") is None:
        print("fuzz_frames: needs atheris, which is not installed here (it has no wheel for every system)")
        return 2
    if chosen.folder is not None:
        fuzz(chosen.folder, chosen.seconds, chosen.seed)
    # The fuzzer ends its process without tidying up, so it gets one of its own.
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.fuzz_frames", "--folder", folder]
        command += ["--seconds", str(chosen.seconds), "--seed", str(chosen.seed)]
        return min(subprocess.run(command, check=False).returncode, 1)


def fuzz(folder: Path, seconds: int, seed: int) -> None:
    """Does not return."""
    atheris: Any = import_module("atheris")
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, messages in enumerate(SEEDS):
        frame = Wire().frame(messages)
        for who in range(len(HELLOS)):
            (corpus / f"{number}-{who}").write_bytes(bytes([who, 20]) + frame)
    settings = [f"-max_total_time={seconds}", f"-seed={seed}", f"-artifact_prefix={folder}/"]
    atheris.instrument_all()
    atheris.Setup([sys.argv[0], str(corpus), "-max_len=600", "-print_final_stats=1", *settings], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())
