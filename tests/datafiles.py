"""Data that some tests and benchmarks are measured on and that is no part of the project.

What wants a file is left out where it is not at hand. Files are looked for in $EDGEORDER_DATA, or in a folder `data` of
any folder beside or above this one.
"""

import gzip
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

NQ_RETRIEVED = "nq-retrieved.jsonl.gz"


@cache
def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file, packed (.gz) or not; none where it is not at hand."""
    named = os.environ.get("EDGEORDER_DATA")
    folders = [Path(named)] if named else [data for above in Path(__file__).parents for data in above.glob("*/data")]
    found = next((folder / name for folder in folders if (folder / name).exists()), None)
    if found is None:
        return []
    read = gzip.decompress if found.suffix == ".gz" else bytes
    return [json.loads(line) for line in read(found.read_bytes()).splitlines()]
