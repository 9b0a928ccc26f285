"""Neighbours of hits: nodes without a score that stand in a list of scored ones because they surround one of them."""

from collections.abc import Sequence

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo

from edgeorder.chunk import ChunkView
from edgeorder.views import Ranked


def hits_first(view: ChunkView, nodes: Sequence[NodeWithScore]) -> ChunkView:
    """Return the view of a list, ranked so that hits come before the neighbours that a postprocessor put around them.

    `PrevNextNodePostprocessor` puts nodes without a score around each hit. Read as best first, such a list would have
    most hits below neighbours of the first. Here a neighbour has the rank of its hit, and is the first to leave.
    """
    scores = view.scores()
    if None not in scores or all(score is None for score in scores):
        return view
    places = {node.node.node_id: place for place, node in enumerate(nodes)}
    of_hit = {place: (place, 0) for place, score in enumerate(scores) if score is not None}
    reached = list(of_hit)
    for place in reached:  # it grows: from the hits outwards, along the links between nodes
        hit, distance = of_hit[place]
        for link in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT):
            related = nodes[place].node.relationships.get(link)
            beside = places.get(related.node_id) if isinstance(related, RelatedNodeInfo) else None
            if beside is not None and beside not in of_hit:
                of_hit[beside] = hit, distance + 1
                reached.append(beside)
    neighbours = sorted((place for place, (_, distance) in of_hit.items() if distance), key=of_hit.__getitem__)
    if not neighbours:
        return view
    around = frozenset(neighbours)
    hits = [place for place in range(len(nodes)) if place not in around]
    note = f"{len(neighbours)} nodes without a score surround hits: hits rank before them, they as their hit does"
    return Ranked(view, [*hits, *neighbours], note)
