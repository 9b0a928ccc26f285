"""What other programs keep of a table's columns in its metadata: told of the columns that are added."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_AVRO = (b"parquet.avro.schema", b"avro.schema")
_NAMES = {"int64": "long"}  # where Spark's name of a type is another


def metadata_with(metadata: Mapping[bytes, bytes] | None, more: "pyarrow.Schema") -> dict[bytes, bytes] | None:
    """Return the metadata of a table to which columns are added.

    Spark reads the columns that are told here, and no others, whatever the Parquet file holds: it is told of the new
    ones. Readers of Avro fail on columns that are not told: what they keep says no more than the file, and is left out.

    Args:
        metadata: That of the table before.
        more: The columns that are added.
    """
    if metadata is None:
        return None
    kept = {name: value for name, value in metadata.items() if name not in _AVRO}
    if _SPARK in kept:
        try:
            told = json.loads(kept[_SPARK])
            told["fields"] = [*told["fields"], *_fields(more)]
            kept[_SPARK] = json.dumps(told).encode()
        except (ValueError, TypeError, KeyError):  # of a form that is not known
            del kept[_SPARK]  # then Spark reads the columns of the file
    return kept


def _fields(fields: Any) -> list[dict[str, Any]]:
    return [{"name": one.name, "type": _type(one.type), "nullable": True, "metadata": {}} for one in fields]


def _type(kind: Any) -> Any:
    """Return a type in Spark's words."""
    if hasattr(kind, "value_type"):
        return {"type": "array", "elementType": _type(kind.value_type), "containsNull": True}
    if kind.num_fields:
        return {"type": "struct", "fields": _fields(kind.field(at) for at in range(kind.num_fields))}
    return _NAMES.get(str(kind), str(kind))
