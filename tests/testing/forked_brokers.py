"""A program that starts broker processes, as they are shipped, in the hosts of a lab.

They are forked from this process, which has loaded everything: starting Python eight times costs more than
all that the test does with the brokers. Standard input: one line of JSON with, for each broker, the first
process and the folder of its host, and the lines that a broker process is told. When the input ends, the
brokers stop.
"""

import json
import os
import sys
from pathlib import Path

from regraft.broker.io.__main__ import main as broker
from regraft.broker.io.running import run
from regraft.model.process_log import start_logging
from regraft.testing.hosts.host import children_in, enter


def main() -> None:
    inputs: list[int] = []
    for first_process, folder, lines in json.loads(sys.stdin.readline()):
        theirs, ours = os.pipe()
        inputs.append(ours)
        member = os.pidfd_open(first_process)
        with children_in(member):
            if os.fork() == 0:
                be_broker(member, Path(folder), theirs, inputs)
        os.close(theirs)
        os.close(member)
        os.write(ours, "".join(f"{line}\n" for line in lines).encode())
    sys.stdin.read()
    for ours in inputs:
        os.close(ours)
    for _ in inputs:
        os.wait()


def be_broker(member: int, folder: Path, theirs: int, inputs: list[int]) -> None:
    """Never returns. A broker runs as long as the other end of its input is open."""
    code = 1
    try:
        enter(member, folder)
        log = os.open(folder / "broker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number, descriptor in enumerate((theirs, log, log)):
            os.dup2(descriptor, number)
        for descriptor in (member, theirs, log, *inputs):
            os.close(descriptor)
        start_logging()
        code = run(broker())
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
