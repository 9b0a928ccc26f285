"""One record as a picture: the block from head to tail as one HTML file, with what was dropped beside it."""

from html import escape
from pathlib import Path

from edgeorder.explaining import strong_positions
from edgeorder.files import write_text
from edgeorder.records import ChunkRecord, OrderRecord

_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:70rem;padding:1rem;overflow-wrap:anywhere;
background:#fff;color:#1d2430}@media(prefers-color-scheme:dark){body{background:#171c24;color:#e6eaf0}}
h1{font-size:1.2rem}.columns{display:flex;gap:2rem;flex-wrap:wrap;align-items:flex-start}
section{flex:1 1 20rem;min-width:0}ol{list-style:none;margin:0;padding:0}
li{border:1px solid #8886;border-left:.6rem solid var(--c,#888);padding:.25rem .6rem;margin:.2rem 0;
unicode-bidi:isolate}
.run{border-style:double;border-width:3px 3px 3px .6rem;margin-block:0}
.weak{border-style:dashed}b,small{unicode-bidi:isolate}small{display:block}p{margin:.3rem 0}
pre{white-space:pre-wrap;max-height:12rem;overflow:auto;margin:.2rem 0;unicode-bidi:plaintext}
"""


def write_record(path: str | Path, record: OrderRecord) -> None:
    """Write one record as an HTML file without scripts and without a request to anywhere."""
    # What holds half a character cannot be written: it is shown as a question mark.
    write_text(path, record_html(record).encode("utf-8", "replace").decode())


def record_html(record: OrderRecord) -> str:
    """Return the page: the block head first, coloured by rank, the chunks of a run with one border; then what left."""
    placed, dropped = record.placed, record.dropped
    strong = strong_positions(len(placed), record.short, record.expected)
    facts = {
        "order": f"{record.order} ({record.reason})",
        "tokens": None if record.budget is None else f"{record.tokens} of {record.budget}, by {record.counter}",
        "time": record.time,
        "trace": record.trace_id,
        "shadow": "only recorded: what came in was used" if record.shadow else None,
        "question": record.query,
    }
    told = "".join(f"<p>{name}: <b>{escape(str(value))}</b></p>" for name, value in facts.items() if value)
    notes = "".join(f"<p>{escape(note)}</p>" for note in record.notes)
    block = "".join(_item(one, record, one.position in strong or one.echoed) for one in placed)
    out = "".join(_item(one, record, True) for one in dropped)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>edgeorder: one placement</title>'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{len(placed)} of {len(record.chunks)} chunks placed</h1>{told}{notes}"
        f'<div class="columns"><section><h2>The block, head to tail</h2><ol>{block}</ol></section>'
        + (f"<section><h2>Dropped</h2><ol>{out}</ol></section>" if out else "")
        + "</div></body></html>\n"
    )


def _item(chunk: ChunkRecord, record: OrderRecord, strong: bool) -> str:
    best = len(record.chunks)
    hue = 145 - 115 * (chunk.rank - 1) / max(best - 1, 1)  # green for the best rank, orange for the last
    kinds = [*(["run"] if chunk.run is not None else []), *([] if strong else ["weak"])]
    facts = [f"rank {chunk.rank}"]
    if chunk.position is not None:
        facts.append(f"position {chunk.position + 1}" + ("" if strong else ", weak"))
        if record.expected:
            facts.append(f"expected accuracy {record.expected[chunk.position]:.0%}")
    if chunk.run is not None:
        facts.append(f"run {chunk.run}")
    known = {
        name: getattr(chunk, name) for name in ("score", "rerank_score", "tokens", "source", "dropped", "duplicate_of")
    }
    facts += [
        f"{name.replace('_', ' ')} " + (f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in known.items()
        if value is not None
    ]
    if chunk.shortened:
        facts.append(f"{chunk.elided} characters cut")
    if chunk.echoed:
        facts.append("repeated at the far end")
    text = "" if chunk.text is None else f"<details><summary>text</summary><pre>{escape(chunk.text)}</pre></details>"
    return (
        f'<li class="{" ".join(kinds)}" style="--c:hsl({hue:.0f} 55% 45%)"><b>{escape(chunk.id)}</b>'
        f"<small>{escape('; '.join(facts))}</small>{text}</li>"
    )
