"""A bucket on an object store of our own, as tests need it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest

BUCKETS = count()
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("http://%s:%s" % server.get_host_and_port(), flush=True)
sys.stdin.read()  # ends when whoever has started this has gone
"""


@contextmanager
def serving() -> Iterator[str]:
    """The endpoint of an object store in memory: a process of its own, because clients that are not written
    in Python may wait for it without letting go of the interpreter."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def environment(endpoint: str) -> dict[str, str]:
    """The variables that say how to reach it."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }


def new_bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty bucket; the environment says how to reach it."""
    for name, value in environment(endpoint).items():
        monkeypatch.setenv(name, value)
    from pyarrow import fs

    name = f"bucket{next(BUCKETS)}"
    files = fs.S3FileSystem(endpoint_override=endpoint, region="us-east-1", allow_bucket_creation=True)
    files.create_dir(name)
    return f"s3://{name}"
