"""The whole service, in memory and on a real ZooKeeper: proposals, approval, runs, restarts, failures."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from tests.deploy.fake_agents import within
from tests.serve.serving import BUSY, CHAIN, STAYS, Bench, kinds, until

from regraft.estate.memory.estate import MadeUpWindows
from regraft.model import BadInput, Topology
from regraft.model.intents import Delete
from regraft.model.snapshot import Counts
from regraft.serve import views as v
from regraft.serve.running import STATE
from regraft.serve.service import Service
from regraft.serve.store import Store


def test_a_proposal_is_previewed_approved_once_and_carried_out(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            events = service.events()
            first = asyncio.ensure_future(anext(events))
            proposal = (await until(service.proposals))[0]
            assert (await first).kind in ("state", "decision", "topology", "snapshot")
            assert proposal.state == "waiting"
            assert proposal.gain > 0.3
            assert proposal.numbers_after["routing_cost"] < proposal.numbers_before["routing_cost"]
            assert service.state().standing == "proposed"
            plan = await service.plan(proposal.sha256)
            assert isinstance(plan, v.PlanView)
            assert [each.step for each in plan.steps] == list(range(proposal.steps + 1))
            assert sum(len(each.actions) for each in plan.steps) == proposal.actions
            assert plan.steps[-1].numbers["routing_cost"] == proposal.numbers_after["routing_cost"]
            assert plan.better == 2
            operation = await service.approve(proposal.sha256, "ann")
            assert isinstance(operation, v.OperationView)
            again = await service.approve(proposal.sha256, "bob")
            assert isinstance(again, v.Refused)
            assert again.code == "again"
            done = await until(lambda: _ended(service, operation.id))
            assert (done.state, done.by, done.plan) == ("done", "ann", proposal.sha256)
            topology = await service.topology()
            assert isinstance(topology, v.TopologyView)
            assert topology.sha256 == proposal.goal
            assert {(each.one, each.other) for each in topology.links} == set(plan.steps[-1].links)
            after = service.proposal(proposal.sha256)
            assert isinstance(after, v.ProposalView)
            assert (after.state, after.operation) == ("done", operation.id)
            assert service.series().runs[0].run == done.run

    within(scenario())


def _ended(service: object, id: str) -> v.OperationView | None:
    found = service.operation(id)  # type: ignore[attr-defined]
    return found if found.ended is not None else None


def test_in_mode_automatic_the_plan_is_carried_out_and_verified(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        configuration = bench.settings(tmp_path, mode="automatic")
        async with bench.network(), bench.serving(configuration) as service:
            await until(lambda: "verified" in kinds(service))
            assert service.operations()[0].by == "loop"
            done = service.proposals()[0]
            assert done.measured_gain is not None
            assert done.measured_gain == pytest.approx(done.gain)
            assert service.metrics()["deployments_total"][2] == 1
            health = service.health()
            assert (health.ok, health.ready) == (True, True)

    within(scenario())


def test_what_became_of_the_telemetry_is_counted_and_shown(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        windows = MadeUpWindows(STAYS, Counts(read=10, kept=4, rejected=3, duplicated=2, late=1))
        async with bench.network(), bench.serving(bench.settings(tmp_path), windows) as service:
            await until(lambda: service.metrics()["records_read_total"][2] >= 30)
            found = service.metrics()
            times = found["records_read_total"][2] / 10
            counted = [
                found[f"records_{name}_total"][2] for name in ("kept", "rejected", "duplicated", "late")
            ]
            assert counted == [4 * times, 3 * times, 2 * times, times]
            assert 0 <= found["newest_record_age_seconds"][2] < 60
            shown, point = service.snapshots()[0], service.series().points[-1]
            assert (shown.records, shown.rejected, shown.duplicated, shown.late) == (4, 3, 2, 1)
            assert (point.rejected, point.late) == (3, 1)

    within(scenario())


def test_in_mode_observe_the_answer_is_shown_and_cannot_be_carried_out(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        configuration = bench.settings(tmp_path, mode="observe", cool_down="0s")
        async with bench.network(), bench.serving(configuration) as service:
            shown = (await until(service.proposals))[0]
            assert (shown.state, shown.reason) == (
                "would-propose",
                "the loop only observes (the mode is observe)",
            )
            assert (shown.improves, shown.windows_needed, shown.needed_gain) == ("routing_cost", 1, 0.05)
            assert shown.outside_limits is None
            cost = next(each for each in shown.verdicts if each.goal == "routing_cost")
            assert cost.before is not None
            assert cost.number is not None
            assert cost.number < cost.before
            plan = await service.plan(shown.sha256)
            assert isinstance(plan, v.PlanView)
            assert set(plan.steps[0].links) == set(CHAIN.by_ends) != set(plan.steps[-1].links)
            state = service.state()
            assert (state.standing, state.proposal, state.would_propose) == (
                "would-propose",
                None,
                shown.sha256,
            )
            for no in (await service.approve(shown.sha256, "ann"), service.reject(shown.sha256, "no", "ann")):
                assert isinstance(no, v.Refused)
                assert no.code == "mode"
                assert "only observes (the mode is observe)" in no.reason
            await until(lambda: "kept" in kinds(service))
            assert service.operations() == ()
            assert service.state().topology == CHAIN.sha256
            service.set_mode("propose", "ann")
            waits = service.proposal(shown.sha256)
            assert isinstance(waits, v.ProposalView)
            assert (waits.state, waits.needs_approval) == ("waiting", "the mode is propose")
            assert waits.numbers_after == shown.numbers_after
            assert isinstance(await service.approve(shown.sha256, "ann"), v.OperationView)

    within(scenario())


def test_links_have_the_latencies_that_were_measured(bench: Bench, tmp_path: Path) -> None:
    """Between a and e the way is so long that the five links in between are worth keeping."""

    async def scenario() -> None:
        windows = MadeUpWindows(BUSY)
        windows.round_trips = dict.fromkeys(pairwise("abcde"), 4.0) | {("a", "e"): 400.0}
        async with bench.network(), bench.serving(bench.settings(tmp_path), windows) as service:
            proposal = (await until(service.proposals))[0]
            assert ("a", "e") not in {
                pair for step in (await plan_of(service, proposal)).steps for pair in step.links
            }
            topology = await service.topology()
            assert isinstance(topology, v.TopologyView)
            assert [each.latency_ms for each in topology.links] == [2.0] * 4
            assert [each.cost for each in topology.links] == [1.0] * 4

    within(scenario())


async def plan_of(service: Service, proposal: v.ProposalView) -> v.PlanView:
    found = await service.plan(proposal.sha256)
    assert isinstance(found, v.PlanView)
    return found


def test_a_rejected_proposal_stays_rejected_with_its_reason(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            proposal = (await until(service.proposals))[0]
            view = service.reject(proposal.sha256, "not on a Friday", "ann")
            assert isinstance(view, v.ProposalView)
            assert (view.state, view.reason) == ("rejected", "ann: not on a Friday")
            no = await service.approve(proposal.sha256, "bob")
            assert isinstance(no, v.Refused)
            assert no.reason == "it is rejected already"
            unknown = await service.approve("f" * 64, "bob")
            assert isinstance(unknown, v.Refused)
            assert unknown.code == "unknown"

    within(scenario())


def test_an_approval_after_the_topology_has_changed_is_refused(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            proposal = (await until(service.proposals))[0]
            star = Topology.of([("a", "b"), ("a", "c"), ("a", "d"), ("a", "e")])
            await bench.set_topology(star, epoch=9)
            await until(lambda: service.state().epoch == 9)
            no = await service.approve(proposal.sha256, "ann")
            assert isinstance(no, v.Refused)
            assert no.code == "stale"

    within(scenario())


def test_a_second_loop_on_the_same_overlay_is_refused(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        one, two = (bench.settings(tmp_path / name) for name in ("one", "two"))
        async with bench.network(), bench.serving(one):
            with pytest.raises(BadInput, match="another loop runs on this overlay: loop on"):
                async with bench.serving(two):
                    pytest.fail("it must not begin")

    within(scenario())


def test_without_an_overlay_it_does_not_begin(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.serving(bench.settings(tmp_path)):
            pytest.fail("it must not begin")

    with pytest.raises(BadInput, match="no overlay has been started here"):
        within(scenario())


def test_proposals_operations_and_modes_survive_a_restart(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        configuration = bench.settings(tmp_path)
        async with bench.network():
            async with bench.serving(configuration) as service:
                proposal = (await until(service.proposals))[0]
                service.pause("release day", "ann")
            async with bench.serving(configuration) as service:
                assert service.state().paused == "release day"
                assert service.state().proposal == proposal.sha256
                service.resume("ann")
                operation = await service.approve(proposal.sha256, "ann")
                assert isinstance(operation, v.OperationView)
                await until(lambda: _ended(service, operation.id))
            async with bench.serving(configuration) as service:
                found = service.operation(operation.id)
                assert isinstance(found, v.OperationView)
                assert found.state == "done"
                assert found.outcome is not None
                assert kinds(service).count("started") == 3

    within(scenario())


def test_a_run_that_is_interrupted_continues_after_the_restart(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        configuration = bench.settings(tmp_path)
        async with bench.network() as brokers:
            async with bench.serving(configuration) as service:
                proposal = (await until(service.proposals))[0]
                brokers.silent = set("abcde")
                operation = await service.approve(proposal.sha256, "ann")
                assert isinstance(operation, v.OperationView)
                await until(lambda: brokers.prepared)
            brokers.silent = set()
            async with bench.serving(configuration) as service:
                done = await until(lambda: _ended(service, operation.id), 40.0)
                assert done.state == "done"
                topology = await service.topology()
                assert isinstance(topology, v.TopologyView)
                assert topology.sha256 == proposal.goal

    within(scenario(), 90.0)


def test_a_run_is_taken_back(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            none = await service.roll_back("ann")
            assert isinstance(none, v.Refused)
            assert none.code == "unknown"
            proposal = (await until(service.proposals))[0]
            operation = await service.approve(proposal.sha256, "ann")
            assert isinstance(operation, v.OperationView)
            await until(lambda: _ended(service, operation.id))
            back = await service.roll_back("ann")
            assert isinstance(back, v.OperationView)
            assert back.kind == "roll back"
            await until(lambda: _ended(service, back.id))
            topology = await service.topology()
            assert isinstance(topology, v.TopologyView)
            assert topology.sha256 == CHAIN.sha256
            twice = await service.roll_back("ann")
            assert isinstance(twice, v.Refused)
            assert twice.code == "again"

    within(scenario())


def test_while_spark_fails_the_loop_observes_and_says_so(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        windows = MadeUpWindows(STAYS)
        windows.fails = "Spark has gone"
        configuration = bench.settings(tmp_path, mode="automatic")
        async with bench.network(), bench.serving(configuration, windows) as service:
            await until(lambda: service.state().standing == "degraded")
            assert service.state().effective_mode == "observe"
            assert service.health().checks["measure"] == "Spark has gone"
            assert "Spark has gone" in service.state().sentence
            windows.fails, windows.workload = "", BUSY
            await until(lambda: "deployed" in kinds(service))
            assert "recovered" in kinds(service)

    within(scenario())


def test_an_intent_of_healing_is_carried_out_before_anything_else(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            await until(service.proposals)
            service.raise_intent("i1", Delete(broker="c"))
            done = await until(
                lambda: [each for each in service.operations() if each.kind == "heal" and each.ended]
            )
            assert done[0].state == "done"
            topology = await service.topology()
            assert isinstance(topology, v.TopologyView)
            assert {each.id for each in topology.brokers if each.in_overlay} == set("abde")
            assert {each.cause: each.state for each in service.proposals()} == {
                "traffic": "withdrawn",
                "healing": "done",
            }

    within(scenario())


def test_rules_without_a_destination_database_say_why_there_are_none(bench: Bench, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with bench.network(), bench.serving(bench.settings(tmp_path)) as service:
            rules = await service.rules()
            assert isinstance(rules, v.RulesView)
            assert "no destination database" in rules.note
            assert await service.adaptations() == ()

    within(scenario())


def test_a_state_that_cannot_be_read_is_named_and_nothing_begins(bench: Bench, tmp_path: Path) -> None:
    configuration = bench.settings(tmp_path)
    store = Store(configuration.state.folder / STATE)
    store._connection.execute("INSERT INTO state VALUES (1, ?)", (b'{"phase": 5}',))
    store.close()

    async def scenario() -> None:
        async with bench.network():
            with pytest.raises(BadInput, match=r"state\.sqlite: the state of the loop in it cannot be read"):
                async with bench.serving(configuration):
                    pass

    within(scenario())
