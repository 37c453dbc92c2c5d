"""The network goes away and comes back under a running loop; the disk fills up."""

import asyncio
from pathlib import Path

from tests.deploy.fake_agents import within
from tests.serve.serving import Bench, kinds, until

from regraft.serve import views as v
from regraft.serve.store import Store, StoreFault


def test_the_loop_observes_while_the_network_is_away_and_continues_when_it_is_back(
    breakable: Bench, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with (
            breakable.network(),
            breakable.serving(breakable.settings(tmp_path)) as service,
        ):
            proposal = (await until(service.proposals))[0]
            await breakable.go_away()
            await until(lambda: service.state().standing == "degraded", 60.0)
            assert "coordination" in service.state().sentence
            no = await service.approve(proposal.sha256, "ann")
            assert isinstance(no, v.Refused)
            assert no.code == "away"
            await breakable.come_back()
            await until(lambda: service.state().standing != "degraded", 60.0)
            assert "recovered" in kinds(service)
            operation = await service.approve(proposal.sha256, "ann")
            assert isinstance(operation, v.OperationView)

    within(scenario(), 150.0)


def test_with_a_full_disk_nothing_is_carried_out_and_it_is_said(bench: Bench, tmp_path: Path) -> None:
    """What could not be written is written when there is room again."""

    async def scenario() -> None:
        configuration = bench.settings(tmp_path)
        async with bench.network(), bench.serving(configuration) as service:
            proposal = (await until(service.proposals))[0]
            written = Store.write

            def full(*_: object, **__: object) -> list[v.DecisionView]:
                raise StoreFault("the state cannot be written: disk is full")

            Store.write = full  # type: ignore[method-assign]
            try:
                refused = await service.approve(proposal.sha256, "ann")
                assert isinstance(refused, v.Refused)
                assert refused.code == "away"
                assert service.state().standing == "degraded"
                assert "disk" in service.state().sentence
                assert service.state().phase != "deploying"
                await asyncio.sleep(0.3)
            finally:
                Store.write = written  # type: ignore[method-assign]
            await until(lambda: "recovered" in kinds(service))
            assert "approved" in kinds(service)
            assert all(each.ended is not None for each in service.operations(9))
            assert "deployed" not in kinds(service)

    within(scenario(), 60.0)
