"""`overflow="compress"` at work: which chunks are read, and what stays of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgeorder.packing import Load, Packer, Scale, Skip

if TYPE_CHECKING:
    from edgeorder.compression import Compression


class Compress(Packer):
    """Keep what `Skip` keeps, whole or shortened, and units of more chunks where the room allows."""

    at_least = Skip

    def __init__(self, scale: Scale, ranks: Sequence[int]) -> None:
        super().__init__(scale, ranks)
        # What the style puts around the whole block leaves less for the chunks.
        self._frame = max(0, scale.count(scale.layout.join(["x"])) - scale.count("x"))
        self._read: Sequence[int] = ()  # ranks
        self._echoed: list[int] = []
        self._compression: Compression | None = None

    def wanted(self, room: int) -> Sequence[str]:
        # The reader of text is loaded where text is read: most calls never compress.
        from edgeorder.compression import Compression
        from edgeorder.filling import REACH, Whole

        room -= self._frame
        scale = self.scale
        skipped = Skip(scale, self.ranks).pack(room, scale.layout.echo)
        total, last = 0, max(skipped.kept, default=-1)
        wholes: list[Whole] = []
        for rank in self.ranks:
            tokens = scale.weigh(rank, len(wholes) + 1)
            wholes.append(Whole(scale.text(rank), tokens))
            total += min(tokens, max(room, 0) + 1) + self.between  # one giant does not hide what stands below it
            if total > REACH * room and rank >= last and len(wholes) >= skipped.walked:
                break
        self._read, self._echoed = self.ranks[: len(wholes)], skipped.echoed
        if not wholes:
            return ()
        kept = frozenset(skipped.kept)
        self._compression = Compression(
            wholes,
            [chunk for chunk, rank in enumerate(self._read) if rank in kept],
            room - self._echoes(self._echoed),
            self.between,
            scale.count,
            lambda chunk, body: scale.weigh_body(self._read[chunk], chunk + 1, body),
        )
        return self._compression.texts

    def pack(self, room: int, echo: int, scores: Sequence[float | None] = ()) -> Load:
        if self._compression is None:
            return Load([], [], {}, {}, 0)
        echoed, ranking = self._echoed[:echo], self.scale.ranking
        found = self._compression.choose(scores, room - self._frame - self._echoes(echoed))
        kept = [self._read[chunk] for chunk in found.kept]
        load = Load(kept, [rank for rank in echoed if rank in kept], {}, {}, len(self._read), found.notes)
        for chunk, body in found.bodies.items():
            load.texts[ranking[self._read[chunk]]], load.elisions[ranking[self._read[chunk]]] = body
        return load

    def promise(self, ranks: Sequence[int]) -> None:
        if self._compression is not None:
            chunk_of = {rank: chunk for chunk, rank in enumerate(self._read)}
            self._compression.promise([chunk_of[rank] for rank in ranks if rank in chunk_of])

    def _echoes(self, echoed: Sequence[int]) -> int:
        return sum(self.scale.weigh(rank, 1) + self.between for rank in echoed)
