"""From clusters to contents: which publishers' events of which region are routed together (Content routes
§6.3).

With matching "publisher" the filters of each publisher are clustered on their own. With "filter" all are
clustered together, each with the switches at which it is wanted and those at which it is published; a content
then has every publisher whose advertisement overlaps its region.
"""

from regraft.filters.dz import Dz, DzSet
from regraft.routes.interface import ClusterFilters
from regraft.routes.problem import Content, Problem
from regraft.routes.settings import RouteSettings


def contents_of(problem: Problem, cluster: ClusterFilters, settings: RouteSettings) -> list[Content]:
    """The contents of all publishers. Together they hold every event that a subscriber wants, once."""
    everyone = range(len(problem.advertised))
    if settings.matching == "filter":
        return _shared(problem, cluster, settings)
    return [content for each in everyone for content in contents_for(problem, each, cluster, settings)]


def contents_for(
    problem: Problem, publisher: int, cluster: ClusterFilters, settings: RouteSettings
) -> list[Content]:
    """The contents of one publisher."""
    wanted = _wanted(problem, publisher)
    return [
        Content((publisher,), own, own=True)
        for region in _clusters(wanted, cluster, settings)
        if (own := region & problem.advertised[publisher]).expressions
    ]


def whole_contents(problem: Problem) -> list[Content]:
    """One content per publisher with all its wanted events: those of shortest-path trees (§6.1)."""
    contents = []
    for publisher in range(len(problem.advertised)):
        wanted = _wanted(problem, publisher)
        if wanted:
            contents.append(Content((publisher,), DzSet(wanted), own=True))
    return contents


def _shared(problem: Problem, cluster: ClusterFilters, settings: RouteSettings) -> list[Content]:
    wanted: dict[Dz, set[int]] = {}
    for publisher, at in enumerate(problem.publisher_at):
        published_at = at + problem.graph.vertices  # not the same number as for "wanted at this switch"
        for dz, switches in _wanted(problem, publisher).items():
            wanted.setdefault(dz, set()).update(switches, (published_at,))
    contents = []
    for region in _clusters(wanted, cluster, settings):
        publishers = problem.publishing(region)
        if publishers and problem.interested(region):
            contents.append(Content(publishers, region))
    return contents


def _wanted(problem: Problem, publisher: int) -> dict[Dz, set[int]]:
    """Expression that the publisher and a subscriber share -> the switches at which it is wanted."""
    masks, wanted = problem.masks, dict[Dz, set[int]]()
    said = masks.advertised[publisher]
    parts: dict[int, DzSet] = {}
    for subscriber, subscribed in enumerate(masks.subscribed):
        if mask := subscribed & said:
            if mask not in parts:
                parts[mask] = masks.atoms.part(mask)
            for dz in parts[mask]:
                wanted.setdefault(dz, set()).add(problem.subscriber_at[subscriber])
    return wanted


def _clusters(wanted: dict[Dz, set[int]], cluster: ClusterFilters, settings: RouteSettings) -> list[DzSet]:
    if not wanted:
        return []
    return cluster(list(wanted), settings, [frozenset(at) for at in wanted.values()])


def by_publisher(problem: Problem, content: Content) -> list[Content]:
    """The content split into one for each publisher, for where no shared tree serves all of them well."""
    return [
        Content((publisher,), own, own=True)
        for publisher in content.publishers
        if (own := content.region & problem.advertised[publisher]).expressions and problem.interested(own)
    ]
