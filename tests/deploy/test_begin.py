"""What is refused before anything is changed, and a run that was interrupted while it was written."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.deploy.fake_agents import FakeAgents, start_overlay, within
from tests.deploy.plans import AROUND, CHAIN, RING_OPENED, STAR, TO_STAR, links_of, plan, verify

from regraft.coord import Coord, CoordUnreachable, Corrupt, Layout
from regraft.coord.typed import encode, read
from regraft.deploy.begin import RunSettings, checked_topology, run_of
from regraft.deploy.control import order_run
from regraft.deploy.execute import execute, resume, roll_back
from regraft.deploy.records import Command, Current, Run
from regraft.deploy.states import RunOrder, RunState
from regraft.model import BadInput, Plan, Topology

QUIET = RunSettings(canaries=0)
Arrange = Callable[[Coord, Layout], Awaitable[None]]


async def nothing(coord: Coord, layout: Layout) -> None:
    """The overlay as it is."""


async def tree_of(coord: Coord, path: str) -> dict[str, bytes]:
    """Every node below the path; the agents' own excepted."""
    node = await coord.get(path)
    found = {path: node.data} if node is not None else {}
    for child in await coord.children(path):
        found |= await tree_of(coord, f"{path}/{child}")
    return {path: data for path, data in found.items() if "/locks" not in path}


def refusal(hosts: str, root: str, what: Plan, arrange: Arrange = nothing) -> str:
    """Why the plan is not carried out; every node is as before."""

    async def scenario() -> str:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            await arrange(coord, layout)
            before = await tree_of(coord, root)
            with pytest.raises(BadInput) as refused:
                await execute(what, coord, layout, verify, QUIET)
            assert await tree_of(coord, root) == before
            return str(refused.value)

    return within(scenario())


def test_a_plan_that_starts_elsewhere_is_refused(hosts: str, root: str) -> None:
    elsewhere = plan(STAR, CHAIN, [("shift", "a", "c", "b")], [("shift", "e", "c", "d")])
    said = refusal(hosts, root, elsewhere)
    assert said.startswith(f"initial: the plan starts from topology {STAR.sha256[:12]}")
    assert f"the current one is {CHAIN.sha256[:12]} (epoch 1): make a new plan" in said


def test_an_unknown_broker_is_named(hosts: str, root: str) -> None:
    strange = replace(TO_STAR, steps=plan(CHAIN, STAR, [("shift", "a", "b", "x")]).steps)
    assert refusal(hosts, root, strange) == "step 1, shift(a, b, x): there is no broker 'x'"


def test_a_plan_that_does_not_fit_is_refused(hosts: str, root: str) -> None:
    broken = plan(CHAIN, STAR, [("shift", "a", "c", "d")])
    assert refusal(hosts, root, broken) == "shift(a, c, d): does not fit the links that there are"


def test_a_plan_that_leads_elsewhere_is_refused(hosts: str, root: str) -> None:
    wrong = plan(CHAIN, RING_OPENED, [("shift", "a", "b", "c")])
    assert "goal: the steps lead to topology" in refusal(hosts, root, wrong)


def test_a_plan_that_does_not_verify_is_refused(hosts: str, root: str) -> None:
    """Each action by itself fits, but the second removes the guard of the first."""
    clash = plan(
        CHAIN,
        Topology.of([("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]),
        [("shift", "a", "b", "c"), ("shift", "b", "c", "d")],
    )
    said = refusal(hosts, root, clash)
    assert said.startswith("the plan does not verify: step 1")
    assert "guard" in said


def test_a_mesh_plan_is_not_for_a_tree(hosts: str, root: str) -> None:
    assert refusal(hosts, root, replace(TO_STAR, kind="mesh")) == "kind: is mesh, and the overlay is a tree"


def test_a_broker_without_an_agent_is_named(hosts: str, root: str) -> None:
    async def without(coord: Coord, layout: Layout) -> None:
        await coord.delete(layout.alive("c"))
        await coord.delete(layout.alive("d"))

    assert refusal(hosts, root, TO_STAR, without) == "agents: none runs for broker 'c', 'd'"


@pytest.mark.parametrize("node", ["topology", "plan"])
def test_garbage_is_named_with_the_repair(hosts: str, root: str, node: str) -> None:
    async def spoil(coord: Coord, layout: Layout) -> None:
        await coord.ensure(f"{root}/{node}")
        await coord.set(f"{root}/{node}", b"{garbage", -1)

    said = refusal(hosts, root, TO_STAR, spoil)
    assert said.startswith(f"{root}/{node}: does not hold a ")
    assert said.endswith(f"to repair: regraft znode delete {root}/{node} --zookeeper {hosts}")


def test_an_overlay_that_was_never_started_is_reported(hosts: str, root: str) -> None:
    async def forget(coord: Coord, layout: Layout) -> None:
        await coord.delete(layout.topology)

    assert "there is no topology: no overlay has been started here" in refusal(hosts, root, TO_STAR, forget)


def test_another_run_under_way_is_named(hosts: str, root: str) -> None:
    async def running(coord: Coord, layout: Layout) -> None:
        run = Run(id="7-abc", sha256="0" * 64, kind="tree", steps=[[("shift", "a", "b", "c")]] * 5, step=3)
        await coord.create(layout.plan, encode(run))

    said = refusal(hosts, root, TO_STAR, running)
    assert said == "run 7-abc: is under way (step 3 of 5): continue with --resume or --rollback"


def test_an_ensemble_that_cannot_be_reached_is_reported() -> None:
    async def scenario() -> None:
        await Coord.connect("127.0.0.1:1", timeout=0.5)

    with pytest.raises(CoordUnreachable, match=r"ZooKeeper at 127\.0\.0\.1:1 is not reachable"):
        within(scenario())


async def leave_a_beginning(coord: Coord, layout: Layout, what: Plan) -> None:
    """Half of the nodes, as a deployer leaves them that dies while it writes the journal."""
    stored = await read(coord, layout.topology, Current)
    assert stored is not None
    run = run_of(what, stored.value)
    await coord.create(layout.plan, encode(run).replace(b'"running"', f'"{RunState.BEGINNING}"'.encode()))
    await coord.ensure(layout.actions(1))
    await coord.create(layout.action(1, 1), b"half of")
    await coord.create(layout.command("a"), encode(Command(actions=(layout.action(1, 1),))))


@pytest.mark.parametrize("way", ["again", "resume"])
def test_an_interrupted_beginning_is_written_over(hosts: str, root: str, way: str) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            await leave_a_beginning(coord, layout, AROUND)
            with pytest.raises(BadInput, match="has not begun: there is nothing to take back"):
                await roll_back(coord, layout, QUIET)
            going = (
                resume(coord, layout, QUIET)
                if way == "resume"
                else execute(AROUND, coord, layout, verify, QUIET)
            )
            outcome = await going
            assert outcome.goal
            assert links_of(outcome.topology) == links_of(RING_OPENED)

    within(scenario())


def test_a_run_with_a_missing_or_corrupt_action_does_not_continue(hosts: str, root: str) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            await execute(AROUND, coord, layout, verify, QUIET)
            await coord.set(layout.action(2, 1), b"[]", -1)
            with pytest.raises(Corrupt, match="steps/0002/actions/0001: does not hold a Doing"):
                await roll_back(coord, layout, QUIET)
            await coord.delete(layout.action(2, 1))
            with pytest.raises(Corrupt, match=rf"is missing from the journal; .* delete {root}/plan "):
                await roll_back(coord, layout, QUIET)

    within(scenario())


def test_a_plan_of_thousands_of_actions_is_written_in_parts(hosts: str, root: str) -> None:
    """There are no agents: the run is only written."""
    size = 1500
    star = Topology.of([("hub", f"leaf-{n:05d}") for n in range(size)])
    chain = Topology.of([("hub", "leaf-00000"), *((f"leaf-{n:05d}", "leaf-00000") for n in range(1, size))])
    actions: list[tuple[str, ...]] = [("shift", f"leaf-{n:05d}", "hub", "leaf-00000") for n in range(1, size)]

    async def scenario() -> None:
        from regraft.deploy.control import deployer_lease
        from regraft.deploy.journal import write_run

        layout = Layout(root)
        async with await Coord.connect(hosts) as coord:
            current = Current(
                epoch=1, kind="tree", brokers=list(star.ids), links=[e.ends for e in star.links]
            )
            run = run_of(plan(star, chain, actions[:700], actions[700:]), current)
            async with await deployer_lease(coord, layout) as held:
                await write_run(coord, layout, held, run, current)
            assert len(await coord.children(layout.actions(1))) == 700
            assert len(await coord.children(layout.actions(2))) == size - 701
            stored = await read(coord, layout.plan, Run)
            assert stored is not None
            assert stored.value == run

    within(scenario())


def test_only_a_run_under_way_can_be_ordered_to_pause(hosts: str, root: str) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            with pytest.raises(BadInput, match="there is no run"):
                await order_run(coord, layout, RunOrder.PAUSE)
            await execute(TO_STAR, coord, layout, verify, QUIET)
            with pytest.raises(BadInput, match="is not under way: it is done"):
                await order_run(coord, layout, RunOrder.PAUSE)
            with pytest.raises(BadInput, match="was carried out to its end"):
                await resume(coord, layout, QUIET)
            with pytest.raises(BadInput, match="is of plan"):
                await resume(coord, layout, QUIET, plan=AROUND)

    within(scenario())


def test_a_check_alone_leaves_no_trace(hosts: str, root: str) -> None:
    async def scenario() -> None:
        layout = Layout(root)
        async with await Coord.connect(hosts) as coord, FakeAgents(hosts, layout, CHAIN.ids):
            await start_overlay(coord, layout, CHAIN)
            before = await tree_of(coord, root)
            assert (await checked_topology(coord, layout, TO_STAR, verify)).epoch == 1
            assert await tree_of(coord, root) == before

    within(scenario())
