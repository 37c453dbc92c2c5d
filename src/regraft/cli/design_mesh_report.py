"""What `regraft design` prints of a mesh: its numbers, its stages, and what its links are worth."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from regraft.cli.printing import shown
from regraft.model import Ends, Infeasible, Topology, ends
from regraft.model.files import shown as shown_path

if TYPE_CHECKING:
    from regraft.cli.design_mesh import MeshRequest
    from regraft.cli.watching import Watched
    from regraft.design import Cut, MeshDesign

NAMED = 5
"""How many links the explanation names at each end of the ranking."""
MOST_STEPS = 2e9
"""Beyond this, computing the diameters would take longer than the design."""


@dataclass(frozen=True)
class MeshReport:
    """Everything that is reported: numbers, and for each link the topics that it serves and that need it."""

    numbers: dict[str, Any]
    serves: dict[Ends, int]
    needed: dict[Ends, int]

    @classmethod
    def of(
        cls,
        design: "MeshDesign",
        topology: Topology,
        interest: Mapping[str, frozenset[str]],
        cut: "Cut | None",
        watched: "Watched[Any]",
    ) -> "MeshReport":
        from regraft.design.explain import explain, fewest_possible
        from regraft.design.shape import degrees

        degree = degrees(topology)
        matrix, nodes = design.interests.matrix, design.interests.nodes
        worth = explain(matrix, design.links, design.k)
        named = [ends(nodes[v], nodes[w]) for v, w in design.links.tolist()]
        numbers: dict[str, Any] = {
            "method": design.method,
            "k": design.k,
            "nodes": len(nodes),
            "topics": len(design.interests.topics),
            "edges": len(topology.links),
            "average_degree": round(degree.average, 4),
            "max_degree": degree.most,
            "seconds": round(watched.seconds, 3),
            "valid": cut is None,
            "interrupted": watched.interrupted,
            "stages": [{"stage": stage.name, "edges": stage.links} for stage in design.stages],
            "fewest_possible": fewest_possible(matrix, design.k),
            "diameters": diameters(topology, interest),
        }
        if cut is not None:
            numbers["cut"] = {"topic": cut.topic, "nodes": list(cut.cut)}
        if design.terms.prices.size:
            prices = design.terms.prices[design.links[:, 0], design.links[:, 1]]
            numbers["latency_ms"] = round(float(prices.sum()), 3)
        return cls(
            numbers,
            dict(zip(named, worth.serves.tolist(), strict=True)),
            dict(zip(named, worth.needed.tolist(), strict=True)),
        )

    def ranked(self) -> list[Ends]:
        """The links, those that most topics need first."""
        return sorted(self.needed, key=lambda link: (-self.needed[link], -self.serves[link], link))


def diameters(topology: Topology, interest: Mapping[str, frozenset[str]]) -> dict[str, float] | None:
    from regraft.design.shape import topic_diameters

    if sum(len(nodes) for nodes in interest.values()) * max(1, len(topology.links)) > MOST_STEPS:
        return None
    known = [hops for hops in topic_diameters(topology, interest).values() if hops is not None]
    if not known:
        return None
    return {"largest": max(known), "average": round(sum(known) / len(known), 4)}


def report(answer: MeshReport, request: "MeshRequest") -> None:
    ranked = answer.ranked()
    if request.as_json:
        worth = [
            {"link": list(link), "serves": answer.serves[link], "needed": answer.needed[link]}
            for link in ranked
        ]
        click.echo(json.dumps(answer.numbers | {"links": worth}))
        return
    numbers = answer.numbers
    for stage in numbers["stages"]:
        click.echo(f"{stage['stage']}: {stage['edges']:,} links")
    click.echo(
        f"{numbers['edges']:,} links for {numbers['nodes']:,} nodes and {numbers['topics']:,} topics, "
        f"k = {numbers['k']}: degree {numbers['average_degree']:.2f} on average, "
        f"{numbers['max_degree']} at most; no overlay has fewer than {numbers['fewest_possible']:,}"
    )
    if numbers["diameters"]:
        hops = numbers["diameters"]
        click.echo(f"topic diameters: {hops['average']:.2f} hops on average, {hops['largest']} at most")
    for title, some in (("worth most", ranked[:NAMED]), ("worth least", ranked[NAMED:][-NAMED:])):
        if some:
            click.echo(f"{title}: " + "; ".join(_described(answer, link) for link in some))
    click.echo(f"checked: {numbers['valid']}; {numbers['seconds']:.2f} s")
    for path in (request.output, request.picture):
        if path is not None:
            click.echo(f"written to {shown_path(path)}", err=True)


def _described(answer: MeshReport, link: Ends) -> str:
    topics = f"{answer.needed[link]} of {answer.serves[link]} topics need it"
    return f"{shown(link[0])} - {shown(link[1])} ({topics})"


def report_infeasible(no: Infeasible, request: "MeshRequest") -> int:
    """Why there is no design; exit code 1."""
    if request.as_json:
        click.echo(json.dumps({"infeasible": no.reason, "limit": no.limit, "proven": no.proven}))
    verdict = "there is no such mesh" if no.proven else "no such mesh found"
    click.echo(f"regraft: {verdict}: {no.reason} (limit: {no.limit})", err=True)
    return 1
