"""`regraft apply` and `regraft topology` on a ZooKeeper of their own, with agents that pretend."""

import asyncio
import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.cli.conftest import GOAL, Run, answered, refused
from tests.cli.running import PROGRAM
from tests.deploy.fake_agents import FakeAgents, start_overlay
from tests.deploy.plans import AROUND, CHAIN, TO_STAR

from regraft.coord import Configuration, Coord, Layout
from regraft.coord.typed import encode
from regraft.model.plan_files import write_plan


class Overlay(threading.Thread):
    """The chain a-b-c-d-e with its agents, in a thread: the command has an event loop of its own."""

    def __init__(self, hosts: str, root: str) -> None:
        super().__init__(daemon=True)
        self.hosts, self.layout = hosts, Layout(root)
        self.options = ("--zookeeper", hosts, "--zookeeper-root", root)
        self.ready, self.over = threading.Event(), threading.Event()

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        async with (
            await Coord.connect(self.hosts) as coord,
            FakeAgents(self.hosts, self.layout, CHAIN.ids) as self.agents,
        ):
            await start_overlay(coord, self.layout, CHAIN)
            self.ready.set()
            while not self.over.is_set():
                await asyncio.sleep(0.02)

    def write(self, path: str, data: bytes) -> None:
        async def written() -> None:
            async with await Coord.connect(self.hosts) as coord:
                await coord.ensure(path)
                await coord.set(path, data, -1)

        asyncio.run(written())


@pytest.fixture
def overlay(hosts: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Overlay]:
    write_plan(TO_STAR, folder / "plan.json")
    write_plan(AROUND, folder / "around.json")
    running = Overlay(hosts, f"/{request.node.name}")
    running.start()
    assert running.ready.wait(30)
    yield running
    running.over.set()
    running.join(10)


def test_a_plan_is_applied_and_the_topology_is_the_goal(regraft: Run, overlay: Overlay, folder: Path) -> None:
    options = (*overlay.options, "--json")
    outcome = answered(regraft("apply", "plan.json", "--canaries", "0", "-o", "outcome.json", *options))
    assert (outcome["state"], outcome["goal"], outcome["back"]) == ("done", True, False)
    assert [each["state"] for each in outcome["actions"]] == ["done", "done"]
    assert outcome["no_canaries"] == "not wanted"
    assert json.loads((folder / "outcome.json").read_text()) == outcome
    live = answered(regraft("topology", *options, "-o", "live.json"))
    assert sorted(live["links"]) == sorted(cast("list[list[str]]", GOAL["links"]))
    assert json.loads((folder / "live.json").read_text()) == live
    again = refused(regraft("apply", "plan.json", *options))
    assert "initial: the plan starts from topology" in again
    assert "make a new plan" in again


def test_it_is_told_in_words(regraft: Run, overlay: Overlay) -> None:
    result = regraft("apply", "around.json", "--canaries", "0", *overlay.options)
    assert result.exit_code == 0, result.stderr
    assert "step 1 of 3\nstep 2 of 3\nstep 3 of 3\n" in result.stderr
    assert "carried out: 3 of 3 actions in" in result.stdout
    assert "the goal" in result.stdout
    shown = regraft("topology", *overlay.options)
    assert "tree of 5 brokers, epoch 4" in shown.stdout


def test_canaries_that_can_not_connect_do_not_hold_it_up(regraft: Run, overlay: Overlay) -> None:
    outcome = answered(regraft("apply", "plan.json", "--canaries", "1", *overlay.options, "--json"))
    assert outcome["goal"]
    assert outcome["canaries"] is None
    assert outcome["no_canaries"]


def test_a_dry_run_touches_nothing(regraft: Run, overlay: Overlay) -> None:
    before = regraft("znode", "show", overlay.layout.root, *overlay.options, "--json").stdout
    seen = answered(regraft("apply", "around.json", "--dry-run", *overlay.options, "--json"))
    assert (seen["actions"], seen["changes"], seen["goal"]) == (3, 3, AROUND.goal)
    assert "nothing has been touched" in regraft("apply", "plan.json", "--dry-run", *overlay.options).stdout
    assert regraft("znode", "show", overlay.layout.root, *overlay.options, "--json").stdout == before


def test_a_run_is_taken_back(regraft: Run, overlay: Overlay) -> None:
    options = (*overlay.options, "--json")
    answered(regraft("apply", "plan.json", "--canaries", "0", *options))
    outcome = answered(regraft("apply", "--rollback", "--canaries", "0", *options))
    assert (outcome["state"], outcome["back"], outcome["goal"]) == ("done", True, True)
    assert sorted(map(tuple, outcome["topology"]["links"])) == sorted(CHAIN.by_ends)


def test_a_run_that_was_left_is_paused_and_continued(regraft: Run, overlay: Overlay) -> None:
    """The run has no deployer any more; orders to it wait in the journal."""
    from regraft.deploy.begin import run_of
    from regraft.deploy.journal import expanded
    from regraft.deploy.records import Current

    current = Current(epoch=1, kind="tree", brokers=list(CHAIN.ids), links=list(CHAIN.by_ends))
    run = run_of(AROUND, current)
    for step, doings in enumerate(expanded(run, current)[0], 1):
        overlay.write(overlay.layout.action(step, 1), encode(doings[0]))
    overlay.write(overlay.layout.plan, encode(run))
    options = (*overlay.options, "--json")
    said = answered(regraft("apply", "--pause", *options))
    assert said == {"run": run.id, "wanted": "pause", "deployer": None}
    assert "--resume or --rollback" in refused(regraft("apply", "plan.json", *options))
    assert "is of plan" in refused(regraft("apply", "plan.json", "--resume", *options))
    assert answered(regraft("apply", "around.json", "--resume", "--canaries", "0", *options))["goal"]
    assert "was carried out to its end" in refused(regraft("apply", "--resume", *options))


def interrupted(overlay: Overlay, times: int) -> tuple[int, str, str]:
    """Runs `regraft apply around.json` with this many Ctrl-C; exit code, standard output and error."""
    arguments = [*PROGRAM, "apply", "around.json", "--canaries", "0", *overlay.options]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    said = process.stderr.readline()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        said += process.stderr.readline()
    out, err = process.communicate(timeout=60)
    return process.returncode, out, said + err


def test_one_interrupt_stops_it_after_the_changes_under_way(regraft: Run, overlay: Overlay) -> None:
    overlay.agents.slow = 0.3
    code, out, err = interrupted(overlay, 1)
    assert code == 1
    assert "step 1 of 3\nstopping after the changes under way" in err
    assert "stopped: " in out
    assert "continue with --resume, or take it back with --rollback" in out
    overlay.agents.slow = 0
    assert answered(regraft("apply", "--resume", "--canaries", "0", *overlay.options, "--json"))["goal"]


def test_a_second_interrupt_leaves_at_once_and_the_run_can_be_taken_back(
    regraft: Run, overlay: Overlay
) -> None:
    overlay.agents.slow = 1.0
    code, _, err = interrupted(overlay, 2)
    assert code == 1
    assert err.endswith("left in the middle of a run; continue with --resume or --rollback\n")
    overlay.agents.slow = 0
    outcome = answered(regraft("apply", "--rollback", "--canaries", "0", *overlay.options, "--json"))
    assert (outcome["back"], outcome["goal"]) == (True, True)


@pytest.mark.parametrize("option", ["--pause", "--continue", "--stop", "--resume", "--rollback"])
def test_without_a_run_there_is_nothing_to_ask_for(regraft: Run, overlay: Overlay, option: str) -> None:
    assert refused(regraft("apply", option, *overlay.options)) == f"{overlay.layout.plan}: there is no run"


def test_garbage_in_the_journal_is_named_with_its_repair(regraft: Run, overlay: Overlay) -> None:
    overlay.write(overlay.layout.plan, b"\xff garbage")
    repair = f"regraft znode delete {overlay.layout.plan} --zookeeper {overlay.hosts}"
    for arguments in (["plan.json"], ["--resume"], ["plan.json", "--dry-run"]):
        assert refused(regraft("apply", *arguments, *overlay.options)).endswith(f"to repair: {repair}")


def test_a_plan_that_was_edited_is_refused(regraft: Run, folder: Path) -> None:
    write_plan(TO_STAR, folder / "plan.json")
    text = (folder / "plan.json").read_text().replace('"shift", "a", "b", "c"', '"shift", "b", "a", "c"')
    (folder / "plan.json").write_text(text)
    said = refused(regraft("apply", "plan.json", "--zookeeper", "127.0.0.1:1"))
    assert said == "plan.json: sha256: is not that of the content: the plan was changed after it was written"


def test_what_is_missing_or_wrong_is_said_in_one_line(regraft: Run, folder: Path) -> None:
    write_plan(TO_STAR, folder / "plan.json")
    assert "PLAN: is missing" in refused(regraft("apply"))
    assert "at a time" in refused(regraft("apply", "plan.json", "--pause", "--stop"))
    nowhere = "--zookeeper: is missing, and `regraft up` has not written out/overlay.json"
    assert refused(regraft("apply", "plan.json")) == refused(regraft("topology")) == nowhere
    (folder / "out").mkdir()
    (folder / "out" / "overlay.json").write_text('{"brokers": {}}')
    assert "names no ZooKeeper" in refused(regraft("topology"))
    (folder / "out" / "overlay.json").write_text("{")
    assert "out/overlay.json" in refused(regraft("topology"))
    assert "0" in refused(regraft("apply", "plan.json", "--attempts", "0"))


def test_an_ensemble_that_is_away_is_said_in_one_line(
    regraft: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plan(TO_STAR, folder / "plan.json")
    monkeypatch.setattr(
        "regraft.cli.running_directory.ensemble_of",
        lambda *_: (Configuration("127.0.0.1:1", timeout=0.5), Layout()),
    )
    assert refused(regraft("apply", "plan.json")).startswith("ZooKeeper at 127.0.0.1:1 is not reachable")
