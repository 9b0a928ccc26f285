"""Views around a view of chunks: the same chunks, in another order or with other bodies."""

from collections.abc import Mapping, Sequence

from edgeorder.chunk import ChunkView, Label, Locations


class Wrapped(ChunkView):
    """A view around another one, which it is but for what a subclass overrides."""

    __slots__ = ("above", "counter", "ranking", "ranking_note", "view")

    def __init__(self, view: ChunkView) -> None:
        self.view = view
        self.counter, self.above = view.counter, view.above
        self.ranking, self.ranking_note = view.ranking, view.ranking_note

    def __len__(self) -> int:
        return len(self.view)

    def item(self, index: int) -> object:
        return self.view.item(index)

    def text(self, index: int) -> str:
        return self.view.text(index)

    def affixes(self, index: int) -> tuple[str, str]:
        return self.view.affixes(index)

    def id(self, index: int) -> object:
        return self.view.id(index)

    def score(self, index: int) -> object:
        return self.view.score(index)

    def source(self, index: int) -> object:
        return self.view.source(index)

    def locations(self, indices: Sequence[int]) -> Locations:
        return self.view.locations(indices)

    def source_text(self, index: int) -> str:
        return self.view.source_text(index)

    def scores(self) -> Sequence[object]:
        return self.view.scores()

    def why_unscored(self) -> str:
        return self.view.why_unscored()

    def sources(self, indices: Sequence[int]) -> list[object]:
        return self.view.sources(indices)

    def label(self, index: int) -> Label:
        return self.view.label(index)

    def numbers(self, indices: Sequence[int], first: int) -> Sequence[int]:
        return self.view.numbers(indices, first)

    def rendered(self, index: int, body: str | None = None) -> str:
        return self.view.rendered(index, body)


class Ranked(Wrapped):
    """A view of a list that is in another order than best first.

    Args:
        view: The chunks.
        ranking: Input indices, best first.
        note: How that is known, for the record.
    """

    __slots__ = ()

    def __init__(self, view: ChunkView, ranking: Sequence[int], note: str) -> None:
        super().__init__(view)
        self.ranking, self.ranking_note = ranking, note


class Shortened(Wrapped):
    """A view whose bodies have been shortened."""

    __slots__ = ("_bodies",)

    def __init__(self, view: ChunkView, bodies: Mapping[int, str]) -> None:
        super().__init__(view)
        self._bodies = bodies

    def text(self, index: int) -> str:
        return self._bodies.get(index, self.view.text(index))

    def rendered(self, index: int, body: str | None = None) -> str:
        return self.view.rendered(index, self._bodies.get(index) if body is None else body)
