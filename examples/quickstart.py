"""One question, twenty retrieved sections, a budget of 2,000 tokens: what reaches the model, and in which order?

Prints three tables: the sections as a BM25 search returns them, as LangChain's `LongContextReorder` would send them,
and as `EdgeOrder` sends them. Then three sections of one document, put back into its order. It needs no API key.

Run it: `make demo`, which installs what it compares with.
"""

import sys
import warnings
from collections.abc import Sequence

from handbook import Section, load_sections, search
from langchain_core.documents import Document
from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.table import Table

from edgeorder import Placement, tiktoken_counter
from langchain_edgeorder import EdgeOrder

with warnings.catch_warnings():  # the package is sunset and says so; it is here only to be compared with
    warnings.filterwarnings("ignore", message="`langchain-community` is being sunset", category=DeprecationWarning)
    from langchain_community.document_transformers import LongContextReorder

QUESTION = "What may my hotel in Geneva cost per night if I stay for more than 14 nights, and who approves more?"
RETRIEVED = 20
BUDGET = 2000
WHY_DROPPED = {"budget": "did not fit the budget"}

console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
count = tiktoken_counter()  # o200k_base, which is also what a budget counts with


def main() -> None:
    """Retrieve once, and show what two ways of ordering send."""
    documents = [as_document(section, rank) for rank, (section, _) in enumerate(search(QUESTION, RETRIEVED), start=1)]
    reordered = LongContextReorder().transform_documents(documents)
    placement = EdgeOrder(budget=BUDGET).place(documents)

    console.print(f"\n[bold]{QUESTION}[/]")
    console.print(f"{len(documents)} sections of a travel policy are retrieved. Budget: {BUDGET:,} tokens.\n")
    tables = [
        table_of_retrieved(documents),
        table_of_reordered(reordered),
        table_of_placement(placement, documents),
    ]
    console.print(Columns(tables, padding=(0, 3)))
    console.print("\npos 0 = first in the prompt   rank 1 = best, marked >   (tokens) = dropped, not sent")
    console.print("╭ │ ╰ = neighbours in one document: read in its order, placed where the best of them belongs\n")
    explain(placement, reordered)
    show_reading_order()
    console.print("\nWhat happened to each chunk and why is in the record: placement.record (.to_json() to log it).")
    console.print("Next: langchain_chain.py, langchain_agent.py and llamaindex_query_engine.py in the same folder.")


def as_document(section: Section, rank: int) -> Document:
    """Return a section for LangChain. edgeorder reads `source` and `chunk_index`; the rank is for these tables only."""
    metadata = {"source": section.document, "chunk_index": section.number, "rank": rank}
    return Document(section.text, metadata=metadata)


def name(document: Document) -> str:
    """Return what a document is called in the tables."""
    return f"{document.metadata['source']} §{document.metadata['chunk_index']}"


def joined_tokens(documents: Sequence[Document]) -> int:
    """Count the text that goes into a prompt: the documents with a blank line between them."""
    return count("\n\n".join(document.page_content for document in documents))


def new_table(title: str, tokens: int, *, with_position: bool = True) -> Table:
    """Return an empty table with the tokens of the joined text at its foot."""
    table = Table(title=title, title_style="bold", box=SIMPLE_HEAD, show_footer=True)
    table.show_edge = table.pad_edge = False
    table.padding = (0, 1, 0, 0)
    if with_position:
        table.add_column("pos", justify="right")
    table.add_column("rank", justify="right")
    table.add_column("section", "total, joined", no_wrap=True)
    table.add_column("tokens", f"{tokens:,}", justify="right", footer_style="bold")
    return table


def row(document: Document, mark: str = "", *, dropped: bool = False) -> list[str]:
    """Return rank, section and tokens of a document: the best one marked, the tokens of a dropped one in brackets."""
    rank, tokens = document.metadata["rank"], count(document.page_content)
    return [f"> {rank}" if rank == 1 else str(rank), mark + name(document), f"({tokens})" if dropped else str(tokens)]


def table_of_retrieved(documents: Sequence[Document]) -> Table:
    """Return a table of the documents by rank."""
    table = new_table("Retrieved, best first", joined_tokens(documents), with_position=False)
    for document in documents:
        table.add_row(*row(document), style=style(document))
    return table


def table_of_reordered(documents: Sequence[Document]) -> Table:
    """Return a table of documents that are all sent, head first."""
    table = new_table("LongContextReorder sends", joined_tokens(documents))
    for position, document in enumerate(documents):
        table.add_row(str(position), *row(document), style=style(document))
    return table


def table_of_placement(placement: Placement, documents: Sequence[Document]) -> Table:
    """Return a table of what a placement keeps, head first, and below it what it drops."""
    placed = placement.apply(documents)
    table = new_table("EdgeOrder sends", joined_tokens(placed))
    for position, (document, mark) in enumerate(zip(placed, run_marks(placement), strict=True)):
        table.add_row(str(position), *row(document, mark), style=style(document))
    table.add_section()
    for drop in placement.dropped:
        table.add_row("-", *row(documents[drop.index], "  ", dropped=True), style="dim")
    return table


def style(document: Document) -> str:
    """Return how a row looks: the best document in colour."""
    return "bold green" if document.metadata["rank"] == 1 else ""


def run_marks(placement: Placement) -> list[str]:
    """Return a bracket for each position in a run, which is what the record calls neighbours placed as one."""
    runs = [None, *(chunk.run for chunk in placement.record.placed), None]
    marks = []
    for before, run, after in zip(runs, runs[1:], runs[2:], strict=False):
        marks.append("  " if run is None else "╭ " if run != before else "╰ " if run != after else "│ ")
    return marks


def explain(placement: Placement, reordered: Sequence[Document]) -> None:
    """Say in words what the tables show."""
    ranks = [document.metadata["rank"] for document in reordered]
    say("LongContextReorder", in_words(ranks, joined_tokens(reordered)))
    say("EdgeOrder", in_words(placement.ranks, placement.tokens or 0))
    say("  its order", f"{placement.order}, because: {placement.reason}")
    for reason in sorted({drop.reason for drop in placement.dropped}):
        dropped = [str(drop.rank) for drop in placement.dropped if drop.reason == reason]
        say("  dropped", f"{WHY_DROPPED.get(reason, reason)}: rank {', '.join(dropped)}")


def say(what: str, words: str) -> None:
    """Print one line of the explanation."""
    console.print(f"[bold]{what:20}[/]{words}")


def in_words(ranks: Sequence[int], tokens: int) -> str:
    """Return where the best chunk sits and how the tokens compare with the budget."""
    side = "over" if tokens > BUDGET else "under"
    best = f"best chunk at position {ranks.index(1)} of {len(ranks) - 1}"
    return f"{best}; {tokens:,} tokens, {abs(tokens - BUDGET):,} {side} the budget"


def show_reading_order() -> None:
    """Show sections 4, 1 and 7 of one document, ranked so, in the order in which they were written."""
    hotels = {section.number: section for section in load_sections() if section.document == "hotels"}
    documents = [as_document(hotels[number], rank) for rank, number in enumerate((4, 1, 7), start=1)]
    read = EdgeOrder(reading="source").transform_documents(documents)
    console.print('\nEdgeOrder(reading="source") reads all that is kept of a document in the order of the document:')
    console.print(f"  {', '.join(map(name, documents))}  ->  {', '.join(map(name, read))}")


if __name__ == "__main__":
    main()
