"""`regraft routes NETWORK --workload FILE`: content routes over a network of switches, and their flows."""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.help_headings import Command
from regraft.cli.printing import progress_bar
from regraft.model import BadInput, Infeasible, RegraftError

if TYPE_CHECKING:
    from regraft.model.routes import Routes
    from regraft.routes import RouteSettings, RouteState

FILE = click.Path(path_type=Path)


@click.command(cls=Command)
@click.argument("network", type=FILE)
@click.option("--workload", type=FILE, required=True, help="Publishers, subscribers, limits (JSON).")
@click.option("--config", type=FILE, help="Components by name, and their numbers (JSON).")
@click.option("--processes", type=click.IntRange(1), help="Processes for sub graphs.")
@click.option("--draw", "picture", type=FILE, help="Write a picture of network and routes (svg, png, pdf).")
@click.option("-o", "--output", type=FILE, help="Write the tables of all switches (JSON).")
@click.option(
    "--install", "switches", type=FILE, help="Install the flows in the switches that this file names."
)
@click.option(
    "--wired", type=FILE, help="Write the file of --install with all ports and addresses, for the next time."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def routes(
    network: Path,
    workload: Path,
    config: Path | None,
    processes: int | None,
    picture: Path | None,
    as_json: bool,
    **where: Path | None,
) -> None:
    """Compute content routes for a network of switches.

    They say which switch sends which events where, with the least data rate.
    NETWORK is GraphML or GML (Topology Zoo), JSON (ours or SNDlib's) or Rocketfuel's .intra.

    \b
    A workload:  {"publishers": [{"id": "p", "switch": "s1", "rate": 20, "advertisement": ["01"]}],
                  "subscribers": [{"id": "t", "switch": "s9", "subscription": ["0110", "0111"]}],
                  "limits": {"path_length": 8, "flows": 500, "load": 1000}}
    A config:    {"clustering": "prefix", "subgraph": "combination", "rings": 1}

    \b
    Examples:
      regraft routes Colt.graphml --workload work.json
      regraft routes Colt.graphml --workload work.json --config fast.json --json
      regraft routes net.json --workload work.json --draw routes.svg
    """
    from regraft.cli.routes_draw import check_suffix

    if picture:
        check_suffix(picture)
    output, switches, wired = (where[name] for name in ("output", "switches", "wired"))
    if wired and not switches:
        raise BadInput("--wired", "needs --install: it says where hosts are plugged in there")
    state = _computed(network, workload, config, processes)
    _report(state, output, picture, as_json, _installed(state.routes, switches, wired) if switches else None)


def _computed(network: Path, workload: Path, config: Path | None, processes: int | None) -> "RouteState":
    import time
    from dataclasses import replace

    from regraft.model.files import shown
    from regraft.model.network_files import read_network
    from regraft.model.route_files import read_route_workload
    from regraft.model.switch_network import check_connected
    from regraft.routes import compute_routes
    from regraft.routes.parallel import process_pool

    settings = _settings(config)
    if processes is not None:
        settings = replace(settings, processes=processes)
    given = read_network(network)
    wanted = read_route_workload(workload)
    try:
        check_connected(given)
    except BadInput as fault:
        raise BadInput(shown(network), fault.rule) from None
    try:
        wanted.check_within(given)
    except BadInput as fault:
        raise fault.within(shown(workload)) from None
    pool = process_pool(settings.processes) if settings.processes > 1 else nullcontext()
    with pool as executor, progress_bar("content routes", total=None) as update:

        def tell(stage: str, done: int, of: int) -> None:
            update(description=stage, completed=done, total=of)

        found = compute_routes(given, wanted, settings, time.perf_counter, tell, executor)
    if isinstance(found, Infeasible):
        raise _none_found(found)
    return found


def _none_found(why: Infeasible) -> RegraftError:
    """That the limits leave no routes is an answer, as it is for plans: exit code 1."""
    verdict = "there are no routes" if why.proven else "no routes found"
    return RegraftError(f"{verdict}: {why.reason}")


def _settings(config: Path | None) -> "RouteSettings":
    from regraft.model.files import as_text, parse_json, read_bytes, shown
    from regraft.routes.registry import COMPONENTS, known_name
    from regraft.routes.settings import RouteSettings, settings_from

    if config is None:
        return RouteSettings()
    try:
        settings = settings_from(parse_json(as_text(read_bytes(config))))
        for kind in COMPONENTS:
            known_name(kind, getattr(settings, kind))
    except BadInput as fault:
        raise fault if fault.place == shown(config) else fault.within(shown(config)) from None
    return settings


def _installed(routes: "Routes", switches: Path, wired: Path | None) -> dict[str, Any]:
    """Bring the flows into the switches; only what differs from what they hold is sent."""
    import json

    from regraft.flows import read_switches, render, switches_document, update
    from regraft.model.files import write_text

    where = read_switches(switches)
    rules = render(routes, where.block, where.wiring)
    missing = [switch for switch in rules.switches if switch not in where.addresses]
    if missing:
        raise BadInput(str(switches), f"does not say where switch {missing[0]!r} is")
    made = update(rules, where.addresses)
    if wired:
        write_text(wired, json.dumps(switches_document(where, rules.wiring), indent=1, ensure_ascii=False))
    sent = sum(len(messages) for phase in made.phases for messages in phase.messages.values())
    return {"switches": len(rules.switches), "messages": sent}


def _report(
    state: "RouteState",
    output: Path | None,
    picture: Path | None,
    as_json: bool,
    installed: dict[str, Any] | None,
) -> None:
    from regraft.cli.routes_draw import draw_routes
    from regraft.cli.routes_report import as_document, print_report, tables_document
    from regraft.model.files import write_text

    if output:
        write_text(output, tables_document(state.routes))
    if picture:
        draw_routes(state.routes, picture)
    document = as_document(state)
    if installed is not None:
        document["installed"] = installed
    print_report(document, as_json)
