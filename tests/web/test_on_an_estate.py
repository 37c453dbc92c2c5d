"""REST over the real service, on a network in memory: a proposal is looked at, approved and carried out."""

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.deploy.fake_agents import within
from tests.serve.serving import InMemory

from regraft.web.serving import serving


def test_a_proposal_is_approved_by_rest_and_the_network_is_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        bench = InMemory()
        configuration = bench.settings(tmp_path)
        async with (
            bench.network(),
            bench.serving(configuration) as service,
            serving(service, configuration.web) as here,
        ):
            api = f"{here.url.rstrip('/')}/api/v1/"
            while not (proposals := (await asked(api + "proposals"))["items"]):
                await asyncio.sleep(0.02)
            proposal = proposals[0]
            plan = await asked(f"{api}plans/{proposal['sha256']}")
            operation = await asked(f"{api}plans/{proposal['sha256']}/approve", "POST")
            while (done := await asked(f"{api}operations/{operation['id']}"))["ended"] is None:
                await asyncio.sleep(0.02)
            assert (done["state"], done["actions_done"]) == ("done", proposal["actions"])
            topology = await asked(api + "topology")
            assert topology["sha256"] == proposal["goal"]
            links = [[each["one"], each["other"]] for each in topology["links"]]
            assert sorted(links) == sorted(plan["steps"][-1]["links"])
            assert "deployed" in [each["kind"] for each in (await asked(api + "decisions"))["items"]]

    within(scenario())


async def asked(url: str, method: str = "GET") -> Any:
    def ask() -> Any:
        with urlopen(Request(url, method=method), timeout=20) as answer:
            return json.load(answer)

    return await asyncio.to_thread(ask)
