"""`regraft pub` and `regraft sub` against running brokers."""

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Run, answered, refused
from tests.cli.running import PROGRAM, running, subscribed

from regraft.cli.entry import main
from regraft.cli.pub_command import _event_of


def test_what_is_published_is_printed(regraft: Run, folder: Path) -> None:
    with running(folder):
        sub = subscribed(folder, "value > 20", "--count", "3", "--broker", "c")
        assert (
            answered(regraft("pub", "value=21", "name=x", "ok=true", "--data", "hello", "--json"))[
                "published"
            ]
            == 1
        )
        assert "1 published" in regraft("pub", "value=5", "--broker", "b").stdout
        lines = '{"value": 22}\n\n{"attributes": {"value": 23.5}, "data": "d"}\n'
        result = CliRunner().invoke(main, ["pub", "--json"], input=lines)
        assert answered(result)["published"] == 2
        output, _ = sub.communicate(timeout=20)
    assert [json.loads(line) for line in output.splitlines()] == [
        {"attributes": {"value": 21, "name": "x", "ok": True}, "data": "hello"},
        {"attributes": {"value": 22}, "data": ""},
        {"attributes": {"value": 23.5}, "data": "d"},
    ]
    assert sub.returncode == 0


def test_count_and_rate_and_json(regraft: Run, folder: Path) -> None:
    with running(folder):
        sub = subscribed(folder, "TRUE", "--count", "20", "--json")
        result = answered(regraft("pub", "n=1", "--count", "20", "--rate", "200", "--json"))
        output, _ = sub.communicate(timeout=20)
    assert result["published"] == 20
    assert json.loads(output)["received"] == 20


def test_a_durable_subscriber_gets_what_came_while_it_was_away(regraft: Run, folder: Path) -> None:
    with running(folder):
        options = ("TRUE", "--name", "desk", "--durable", "--count", "1")
        first = subscribed(folder, *options)
        regraft("pub", "n=1")
        first.communicate(timeout=20)
        pub = CliRunner().invoke(main, ["pub", "n=2", "--timeout", "0.3"])
        assert pub.exit_code == 1
        assert "1 publications were not acknowledged" in pub.stderr
        second = subscribed(folder, *options)
        output, _ = second.communicate(timeout=20)
    assert json.loads(output)["attributes"] == {"n": 2}


def test_tokens_are_asked_for(regraft: Run, folder: Path) -> None:
    (folder / "tokens.json").write_text('{"brokers": "x", "clients": {"*": "secret"}}')
    with running(folder, "--tokens", "tokens.json"):
        assert regraft("pub", "n=1", "--token", "secret").exit_code == 0
        result = regraft("pub", "n=1", "--token", "wrong")
    assert result.exit_code == 1
    assert "the token is not that of client" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["pub", "n"], "an attribute is KEY=VALUE"),
        (["pub", "n=1", "n=2"], "stands twice"),
        (["pub", "--data", "x"], "there is none"),
        (["pub", "n=1", "--at", "nowhere"], "an address is host:port"),
        (["pub", "n=1"], "`regraft up` writes it"),
        (["pub", "n=1", "--certificate", "x"], "--ca says which authority"),
        (["pub", "n=1", "--at", "a..b:1"], "'a..b:1': not the name of a host"),
        (
            ["pub", "n=18446744073709551616", "--at", "127.0.0.1:1"],
            "event: attributes are text",
        ),
        (["pub", "n=\udcff", "--at", "127.0.0.1:1"], "event: attributes are text"),
        (["pub", "n=1", "--data", "\udcff", "--at", "127.0.0.1:1"], "data: has characters that cannot"),
        (["pub", "n=1", "--name", "\udcff", "--at", "127.0.0.1:1"], "name: has characters that cannot"),
        (["pub", "n=1", "--name", "a#b", "--at", "127.0.0.1:1"], "name: a client's name has 1 to 255 bytes"),
        (["sub", "n = '\udcff'", "--at", "127.0.0.1:1"], "filter: has characters that cannot"),
        (["sub", "n >"], "position"),
        (["sub", "TRUE", "--durable"], "needs a --name"),
        (["sub", "TRUE", "--directory", "now.json"], "not a directory of running brokers"),
    ],
)
def test_bad_input_is_one_line(regraft: Run, arguments: list[str], reason: str) -> None:
    assert reason in refused(regraft(*arguments))


def test_a_bad_line_of_the_input_is_named(folder: Path) -> None:
    with running(folder):
        lines: list[str | bytes] = [
            "{",
            "5",
            '{"a": 18446744073709551616}',
            '{"a": "\\ud800"}',
            b'{"a": "\xff"}',
            "[" * 100_000,
        ]
        lines += ['{"attributes": {}, "data": "\\ud800"}']
        for line in (*lines, '{"a": [1]}', '{"attributes": 5}', '{"attributes": {}, "data": 5}'):
            encoded = line if isinstance(line, bytes) else line.encode()
            result = CliRunner().invoke(main, ["pub"], input=b'{"n": 1}\n' + encoded)
            assert refused(result).startswith("line 2")


def test_nobody_at_the_address_is_a_failure(regraft: Run) -> None:
    result = regraft("sub", "TRUE", "--at", "127.0.0.1:1", "--timeout", "0.3")
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr


def test_an_unknown_broker_is_named(regraft: Run, folder: Path) -> None:
    with running(folder):
        assert "there is no broker 'z'; there are a, b, c" in refused(regraft("pub", "n=1", "--broker", "z"))


@contextmanager
def started(folder: Path, *command: str) -> "Iterator[subprocess.Popen[str]]":
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*PROGRAM, *command], cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(process: "subprocess.Popen[str]") -> str:
    """What it writes to standard error after Ctrl-C, while its standard input stays open."""
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert process.stderr is not None
    return process.stderr.read().strip()


def test_an_interrupt_ends_pub_while_it_waits_for_input(folder: Path) -> None:
    with running(folder):
        sub = subscribed(folder, "TRUE", "--count", "1")
        with started(folder, "pub") as pub:
            assert pub.stdin is not None
            pub.stdin.write('{"n": 1}\n')
            pub.stdin.flush()
            sub.communicate(timeout=20)  # then it is well on its way
            assert interrupted(pub) == "regraft: interrupted"


def test_an_interrupt_ends_sub_while_it_waits_for_a_broker(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        where = "{}:{}".format(*deaf.getsockname())
        with started(folder, "sub", "TRUE", "--at", where, "--timeout", "60") as sub:
            deaf.accept()[0].recv(1)
            assert interrupted(sub) == "regraft: interrupted"


def test_what_comes_through_a_live_pipe_is_published_at_once(folder: Path) -> None:
    with running(folder):
        sub = subscribed(folder, "TRUE", "--count", "2")
        with started(folder, "pub", "--json") as pub:
            assert pub.stdin is not None
            assert sub.stdout is not None
            for number in (1, 2):
                pub.stdin.write(f'{{"n": {number}}}\n')
                pub.stdin.flush()
                # The next is written when this one has arrived.
                assert json.loads(sub.stdout.readline())["attributes"] == {"n": number}
            output, _ = pub.communicate(timeout=20)
        assert json.loads(output)["published"] == 2
        sub.communicate(timeout=20)


def test_a_value_that_only_looks_like_json_is_text() -> None:
    deep = "[" * 100_000
    assert _event_of((f"a={deep}", "b=[1]", "c=x", "d=1", 'e="1"'), "").attributes == {
        "a": deep,
        "b": "[1]",
        "c": "x",
        "d": 1,
        "e": "1",
    }
