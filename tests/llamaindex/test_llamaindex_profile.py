"""A measured profile as the order of the postprocessor: it places, is recorded, and survives being written out."""

import copy
import json
import pickle
from collections.abc import Callable

import pytest
from llama_index.core.schema import NodeWithScore, TextNode

from edgeorder import OrderRecord, PositionProfile
from edgeorder.profile import LengthProfile
from llamaindex_edgeorder import EdgeOrderPostprocessor

CURVE = LengthProfile(20, 60, "recency", "measured", 0.12, 0.05, 0.2, (0.5, 0.6, 0.9))
PROFILE = PositionProfile("acme/m-8b", (CURVE,), {"question": "after", "seed": 7}, "2026-11-30T07:00:00+00:00")
NODES = [
    NodeWithScore(node=TextNode(id_=letter, text=letter * 2000), score=1 - n / 9) for n, letter in enumerate("ABCDEF")
]

Post = EdgeOrderPostprocessor
ROUND_TRIPS: dict[str, Callable[[Post], Post]] = {
    "to_dict": lambda post: Post.from_dict(post.to_dict()),
    "to_json": lambda post: Post.from_json(post.to_json()),
    "pickle": lambda post: pickle.loads(pickle.dumps(post)),
    "deepcopy": copy.deepcopy,
    "model_dump": lambda post: Post(**post.model_dump()),
}


def placed(post: Post) -> list[str]:
    """Return the ids of the nodes as they are placed."""
    return [node.node.node_id for node in post.postprocess_nodes(NODES)]


def test_nodes_stand_where_the_model_reads_best() -> None:
    """A reader of the tail gets the best node last; the record says measured, and on what."""
    records: list[OrderRecord] = []
    assert placed(Post(order=PROFILE, recorders=[records.append])) == list("FEDCBA")
    assert records[0].order == "measured"
    assert records[0].reason == (
        "measured on acme/m-8b: recency at 20 chunks, 60 questions; "
        "expected gain over bookend +12.0 points (95 % interval +5.0 to +20.0)"
    )


def test_a_profile_may_decide_for_a_fixed_order() -> None:
    """Then nodes stand in it."""
    weak = PositionProfile("m", (LengthProfile(20, 5, "not enough", "relevance", 0.01, -0.1, 0.1, (0.5, 0.6, 0.9)),))
    assert placed(Post(order=weak)) == list("ABCDEF")


@pytest.mark.parametrize("way", ROUND_TRIPS)
def test_round_trip(way: str) -> None:
    """The profile comes back as a profile, equal, and places as before."""
    back = ROUND_TRIPS[way](Post(order=PROFILE, top_n=5))
    assert back.order == PROFILE
    assert type(back.order) is PositionProfile
    assert placed(back) == list("EDCBA")


def test_a_dump_is_plain_data() -> None:
    """`to_dict` gives JSON values only."""
    data = Post(order=PROFILE).to_dict()
    assert data == json.loads(json.dumps(data))
    assert data["order"] == PROFILE.to_dict()
