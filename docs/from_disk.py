"""For the site: the search index as a script too, which from-disk.js can read where a page is opened from disk."""

from pathlib import Path
from typing import Any

from properdocs.plugins import event_priority


@event_priority(-50)  # behind the search, which writes the index
def on_post_build(config: Any, **_: Any) -> None:
    """Write the index that was built a second time, as a script."""
    folder = Path(config.site_dir) / "search"
    index = (folder / "search_index.json").read_text(encoding="utf-8")
    (folder / "search_index.js").write_text(f"window.searchIndex = {index};\n", encoding="utf-8")
