"""Tool messages that hold a block: how they are written, several in one window, and what is kept on them."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage

from edgeorder.long_text import PlacedText
from edgeorder.placement import Placement
from edgeorder.register import Numbered, Register
from edgeorder.window import FULL, Already, said, share, window
from langchain_edgeorder.asking import Ask, AskText, Steps, by_input, scores_of, with_scores
from langchain_edgeorder.conversation import KEY, mark_of
from langchain_edgeorder.gauge import Gauge
from langchain_edgeorder.order import EdgeOrder
from langchain_edgeorder.tool_results import as_documents


class Job(NamedTuple):
    """A tool message that is to be written.

    Args:
        message: As it is.
        placer: How its documents are placed.
        documents: Its documents; or its text, if it is one that may be cut.
        query: What they were asked for.
        needs: Tokens that are enough for it; None if it would use more than it can have.
        numbers: The numbers that the documents have already, where they are known.
    """

    message: ToolMessage
    placer: EdgeOrder
    documents: Sequence[Document] | str
    query: str | None
    needs: int | None = None
    numbers: Sequence[int] = ()


class Writer:
    """Writes the tool messages of one middleware.

    What it writes is marked: with the numbers and ranks of the documents, their part of the register, and a digest of
    the text, so that a message that somebody else wrote over, to redact it, is never written again. A draft is marked
    as open: with all documents that were found, and what a scorer said of them.

    Args:
        placer: How documents are placed.
        name: Of the middleware.
        already: What stands for a chunk that the conversation holds.
        strict: Whether a full window raises.
        gauge: What counts the whole window, if messages share it.
    """

    def __init__(self, placer: EdgeOrder, name: str, already: Already, strict: bool, gauge: Gauge | None) -> None:
        self.placer = placer
        self.name = name
        self.already = already
        self.strict = strict
        self.gauge = gauge

    def window(self, room: int | None, register: Register, shown: Sequence[str], *, draft: bool = False) -> window:
        """Return the window for one message: `room` tokens beyond the line that would stand there otherwise."""
        if room is not None and self.gauge is not None:
            room += self.gauge.text(FULL)
        return window(room, register=register, already=self.already, shown=shown, strict=self.strict, draft=draft)

    def shown(self, messages: Sequence[BaseMessage]) -> list[str]:
        """Return the texts in which an earlier chunk may stand."""
        return [] if self.already == "send" else [message.text for message in messages if mark_of(message)]

    def wrote(self, message: BaseMessage) -> bool:
        """Say whether a message stands as this writer wrote it, and there are documents to write it again from."""
        mark = mark_of(message)
        if mark is None or mark["by"] != self.name or not stands(message):
            return False
        return "open" in mark or mark["text"] or (bool(mark["numbers"]) and not mark["keeps"])

    def job(self, message: Any) -> Job:
        """Return what there is to do for a message that was written before."""
        mark, found = mark_of(message) or {}, as_documents(message.artifact) or []
        if mark["text"]:
            opened = mark.get("open", {"text": message.text, "query": mark["query"], "needs": None})
            return Job(message, self.placer, opened["text"], opened["query"], opened["needs"])
        if (opened := mark.get("open")) is not None:
            placer = with_scores(self.placer, found, opened["scores"])
            return Job(message, placer, found, opened["query"], opened["needs"])
        ranked = sorted(range(len(found)), key=mark["ranks"].__getitem__)
        documents, numbers = [found[at] for at in ranked], [mark["numbers"][at] for at in ranked]
        return Job(message, by_input(self.placer), documents, mark["query"], None, numbers)

    def draft(
        self, message: ToolMessage, documents: Sequence[Document], query: str | None, placement: Placement
    ) -> ToolMessage:
        """Return a message with the block of a placement that is to be placed again."""
        cut = placement.texts or any(drop.reason == "budget" for drop in placement.dropped)
        opened = {"query": query, "scores": scores_of(placement), "needs": None if cut else placement.tokens}
        return self._written(message, list(documents), query, placement, placed=list(placement.indices), open=opened)

    def final(
        self, message: ToolMessage, documents: Sequence[Document], query: str | None, placement: Placement
    ) -> ToolMessage:
        """Return a message with the block of a placement, and the documents that it shows."""
        return self._written(message, self.placer.placed(documents, placement), query, placement)

    def all(
        self, jobs: Sequence[Job], shown: Sequence[str], left: int | None, register: Register
    ) -> Steps[list[ToolMessage]]:
        """Write messages in their order, each with its share of the tokens left; what one does not need goes on.

        Args:
            jobs: The messages.
            shown: The texts in which an earlier chunk may stand.
            left: Tokens for all of them, beyond the lines that would stand there otherwise; None for no limit.
            register: Gets what is shown.
        """
        shared = share()
        if shared is not None and shared.left is not None:
            left = shared.left if left is None else min(left, shared.left)
        texts, written = list(shown), list[ToolMessage]()
        rest = 0 if left is None else left
        for number, job in enumerate(jobs):
            later = jobs[number + 1 :]
            free = rest - sum(one.needs for one in later if one.needs is not None)
            sharing = 1 if job.needs is not None else 1 + sum(one.needs is None for one in later)
            room = None if left is None else max(0, free // sharing)
            if isinstance(job.documents, str):
                around = self.window(room, register, texts)
                placed = yield AskText(job.placer, job.documents, job.query, around)
                message = self.text(job.message, job.documents, job.query, placed)
            else:
                around = self.window(room, self._knowing(job, register), texts)
                placed = yield Ask(job.placer, job.documents, job.query, around)
                register.update(placed.register)
                message = self.final(job.message, job.documents, job.query, placed)
                texts.append(message.text)
            written.append(message)
            if self.gauge is not None:
                rest -= self.gauge.text(message.text) - self.gauge.text(FULL)
            else:
                rest -= placed.tokens or 0
        return written

    def text(
        self, message: ToolMessage, text: str, query: str | None, placed: PlacedText, *, draft: bool = False
    ) -> ToolMessage:
        """Return a message with what is left of a text; a draft of it keeps the whole."""
        opened = {"text": text, "query": query, "needs": None if placed.gone else placed.tokens}
        content = placed.text or FULL
        mark = {**_NO_DOCUMENTS, "by": self.name, "text": True, "digest": _digest(content), "query": query}
        return _with(message, content, {**mark, "open": opened} if draft else mark)

    def _knowing(self, job: Job, register: Register) -> Register:
        """Return a register that knows the numbers of documents by their text as it is now, which may be shortened."""
        if not job.numbers:
            return register
        own, documents = register.branch(), job.documents
        keys = Numbered(self.placer.view([*documents]), own).keys
        own.update({key: {"number": number} for key, number in zip(keys, job.numbers, strict=True)})
        return own

    def _written(
        self, message: ToolMessage, documents: list[Document], query: str | None, placement: Placement, **more: Any
    ) -> ToolMessage:
        content = said(placement, draws="open" not in more)
        keeps = message.artifact is not None and as_documents(message.artifact) is None
        mark = {
            "by": self.name,
            "text": False,
            "digest": _digest(content),
            "keeps": keeps,
            "query": query,
            "numbers": [passage.number for passage in placement.block.passages],
            "ranks": list(placement.ranks),
            "register": placement.register.to_dict(),
            **more,
        }
        return _with(message, content, mark, message.artifact if keeps else documents)


def _with(message: ToolMessage, content: str, mark: Mapping[str, Any], artifact: Any = None) -> ToolMessage:
    """Return a message with another text and our mark on it."""
    update = {"content": content, "response_metadata": {**message.response_metadata, KEY: dict(mark)}}
    return message.model_copy(update=update if artifact is None else {**update, "artifact": artifact})


_NO_DOCUMENTS: Mapping[str, Any] = {"keeps": True, "numbers": [], "ranks": [], "register": {}}


def stands(message: BaseMessage) -> bool:
    """Say whether a message that has a mark has the text that it was given."""
    mark = mark_of(message)
    return mark is not None and mark["digest"] == _digest(message.text)


def is_open(message: BaseMessage) -> bool:
    """Say whether a message is a draft that stands as it was written."""
    return "open" in (mark_of(message) or {}) and stands(message)


def stub(call: Mapping[str, Any]) -> ToolMessage:
    """Return what the result of a call comes to at least."""
    return ToolMessage(FULL, name=call["name"], tool_call_id=call["id"] or "")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
