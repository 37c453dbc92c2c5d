"""`regraft pub` and `regraft sub` against running brokers."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.conftest import Run, answered, refused
from tests.cli.running import running, subscribed

from regraft.cli.entry import main


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
        (["sub", "n >"], "position"),
        (["sub", "TRUE", "--durable"], "needs a --name"),
        (["sub", "TRUE", "--directory", "now.json"], "not a directory of running brokers"),
    ],
)
def test_bad_input_is_one_line(regraft: Run, arguments: list[str], reason: str) -> None:
    assert reason in refused(regraft(*arguments))


def test_a_bad_line_of_the_input_is_named(folder: Path) -> None:
    with running(folder):
        for line in ("{", "5", '{"a": [1]}', '{"attributes": 5}', '{"attributes": {}, "data": 5}'):
            result = CliRunner().invoke(main, ["pub"], input='{"n": 1}\n' + line)
            assert refused(result).startswith("line 2")


def test_nobody_at_the_address_is_a_failure(regraft: Run) -> None:
    result = regraft("sub", "TRUE", "--at", "127.0.0.1:1", "--timeout", "0.3")
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr


def test_an_unknown_broker_is_named(regraft: Run, folder: Path) -> None:
    with running(folder):
        assert "there is no broker 'z'; there are a, b, c" in refused(regraft("pub", "n=1", "--broker", "z"))
