"""A measured profile as the order of `EdgeOrder`: it places, is recorded, and survives every way of writing it out."""

import copy
import pickle
import warnings

import pytest
from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load, loads

from edgeorder import PositionProfile
from edgeorder.profile import LengthProfile
from langchain_edgeorder import EdgeOrder

CURVE = LengthProfile(20, 60, "recency", "measured", 0.12, 0.05, 0.2, (0.5, 0.6, 0.9))
PROFILE = PositionProfile("acme/m-8b", (CURVE,), {"question": "after", "seed": 7}, "2026-11-30T07:00:00+00:00")
DOCUMENTS = [Document(page_content=letter * 2000, id=letter) for letter in "ABCDEF"]


def loaded(data):
    """Load as a user does who trusts this class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's `load` is marked beta
        read = loads if isinstance(data, str) else load
        return read(data, allowed_objects=[EdgeOrder], valid_namespaces=["langchain_edgeorder"])


ROUND_TRIPS = {
    "dumpd, load": lambda edge: loaded(dumpd(edge)),
    "dumps, loads": lambda edge: loaded(dumps(edge)),
    "pickle": lambda edge: pickle.loads(pickle.dumps(edge)),
    "deepcopy": copy.deepcopy,
    "model_dump": lambda edge: EdgeOrder(**edge.model_dump()),
    "model_dump_json": lambda edge: EdgeOrder.model_validate_json(edge.model_dump_json()),
}


def test_documents_stand_where_the_model_reads_best():
    """A reader of the tail gets the best document last; the record says measured, and on what."""
    edge = EdgeOrder(order=PROFILE)
    assert [document.id for document in edge.transform_documents(DOCUMENTS)] == list("FEDCBA")
    record = edge.place(DOCUMENTS).record
    assert record.order == "measured"
    assert record.reason == (
        "measured on acme/m-8b: recency at 20 chunks, 60 questions; "
        "expected gain over bookend +12.0 points (95 % interval +5.0 to +20.0)"
    )


def test_a_profile_may_decide_for_a_fixed_order():
    """Then documents stand in it, and the record has its name."""
    weak = PositionProfile("m", (LengthProfile(20, 5, "not enough", "bookend", 0.01, -0.1, 0.1, (0.5, 0.6, 0.9)),))
    edge = EdgeOrder(order=weak)
    assert [document.id for document in edge.transform_documents(DOCUMENTS)] == list("ACEFDB")
    record = edge.place(DOCUMENTS).record
    assert record.order == "bookend"
    assert record.reason.startswith("measured on m: not enough at 20 chunks, 5 questions; expected gain over relevance")


@pytest.mark.parametrize("there_and_back", [pytest.param(way, id=name) for name, way in ROUND_TRIPS.items()])
def test_round_trip(there_and_back):
    """The profile comes back as a profile, equal, and places as before."""
    edge = EdgeOrder(order=PROFILE, top_n=5)
    back = there_and_back(edge)
    assert type(back.order) is PositionProfile
    assert back == edge
    assert back.place(DOCUMENTS).indices == (4, 3, 2, 1, 0)


def test_a_damaged_profile_is_refused():
    """Data that is no profile names what is wrong when the settings are loaded."""
    data = EdgeOrder(order=PROFILE).model_dump()
    data["order"]["version"] = 9
    with pytest.raises(ValueError, match="a profile of version 9 cannot be read"):
        EdgeOrder(**data)
