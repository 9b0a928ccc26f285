"""`context_prompt`: the chat prompt in which documents are placed, at the last moment before the model."""

from collections.abc import Sequence
from functools import cached_property
from inspect import getattr_static
from typing import Any, NamedTuple, NoReturn

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.prompts import ChatPromptTemplate, HumanMessagePromptTemplate, MessagesPlaceholder
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from edgeorder.budget import as_budget
from edgeorder.errors import BudgetError
from edgeorder.message_parts import WORDLESS, read_message
from edgeorder.placement import Placement
from edgeorder.prompting import Prompt, QuestionPlace, as_prompt
from edgeorder.rendering import as_layout, split_block
from edgeorder.tokens import checked_counter
from edgeorder.window import unheard
from langchain_edgeorder.order import EdgeOrder, with_labels

_AROUND = (
    "the messages of a ContextPrompt are made when it is formatted; put others around it: "
    "prompt + [...], or ChatPromptTemplate([..., context_prompt(...), ...])"
)
_FRAME = read_message(HumanMessage(""))


class _Asked(NamedTuple):
    """What a prompt is formatted with.

    Args:
        context: Documents, or what was rendered before.
        query: The text of the question; `WORDLESS` where it has none, None where there is no question.
        others: Its blocks that are no text, such as images.
        around: The messages that stand before it.
    """

    context: object
    query: str | None
    others: list[Any]
    around: list[BaseMessage]

    @property
    def textless(self) -> bool:
        """Whether there is a question without a text."""
        return self.query is not None and self.query.isspace()

    @property
    def reserve(self) -> list[Any]:
        """What shares the window with the text of the last message."""
        return [*self.around, HumanMessage(self.others or "")]


class _Outline(HumanMessagePromptTemplate):
    """Stands for the last message, so that the prompt knows its variables.

    Where LangChain takes the prompt apart, as in `SystemMessage(...) + prompt`, it would send documents as their repr.
    """

    @override
    def format(self, **kwargs: Any) -> NoReturn:
        raise TypeError(_AROUND)

    @override
    async def aformat(self, **kwargs: Any) -> NoReturn:
        raise TypeError(_AROUND)

    @override
    def pretty_repr(self, html: bool = False) -> str:
        return HumanMessagePromptTemplate(prompt=self.prompt).pretty_repr(html)  # which shows the name of the class


class ContextPrompt(ChatPromptTemplate):
    """A chat prompt that places its documents; `context_prompt` makes one."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    placer: EdgeOrder = Field(description="How documents are placed, with layout, prompt and budget.")
    system: str | SystemMessage | None = None
    context_key: str = "context"
    question_key: str = "question"
    history_key: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_cached(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Accept what `partial` hands on: all that the prompt holds, once it was used also what LangChain caches."""
        cached = {name for name in values if isinstance(getattr_static(cls, name, None), cached_property)}
        return {name: value for name, value in values.items() if name not in cached}

    @classmethod
    @override
    def is_lc_serializable(cls) -> bool:
        return False

    @override
    def __add__(self, other: Any) -> ChatPromptTemplate:
        joined: ChatPromptTemplate = ChatPromptTemplate([self]) + other
        return joined

    def __radd__(self, other: Any) -> ChatPromptTemplate:
        # As the right operand it would be taken apart, and documents sent as their repr.
        return other + ChatPromptTemplate([self]) if isinstance(other, ChatPromptTemplate) else NotImplemented

    @override
    def append(self, message: Any) -> None:
        raise TypeError(_AROUND)

    @override
    def extend(self, messages: Any) -> None:
        raise TypeError(_AROUND)

    @override
    def __getitem__(self, index: Any) -> Any:
        raise TypeError(_AROUND)

    @override
    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        asked = self._read(kwargs)
        context = asked.context
        if isinstance(context, list | tuple):
            placer = self._asking(asked)
            with placer.harmless():
                placed = placer.place(context, asked.query, reserve=asked.reserve if placer.budget else None)
            if not placer.shadow:
                context = placed
            else:
                with unheard():
                    context = placer.unchanged().place(list(context), asked.query)
        return self._messages(context, asked)

    @override
    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        asked = self._read(kwargs)
        context = asked.context
        if isinstance(context, list | tuple):
            placer = self._asking(asked)
            with placer.harmless():
                placed = await placer.aplace(context, asked.query, reserve=asked.reserve if placer.budget else None)
            if not placer.shadow:
                context = placed
            else:
                with unheard():
                    context = await placer.unchanged().aplace(list(context), asked.query)
        return self._messages(context, asked)

    def _read(self, kwargs: dict[str, Any]) -> _Asked:
        values = self._merge_partial_and_user_variables(**kwargs)
        history = (values.get(self.history_key) or []) if self.history_key else []
        if isinstance(history, str):
            raise TypeError(f"{self.history_key!r} must be a list of messages, not {history!r:.80}")
        system = [SystemMessage(self.system)] if isinstance(self.system, str) and self.system else []
        if isinstance(self.system, SystemMessage):
            system = [self.system]
        text, others = split_question(values.get(self.question_key), self.question_key)
        return _Asked(values[self.context_key], text, others, [*system, *convert_to_messages(history)])

    def _asking(self, asked: _Asked) -> EdgeOrder:
        """Return the placer; its prompt shows no question where there is no text of one."""
        if not asked.textless:
            return self.placer
        return self.placer.model_copy(update={"prompt": self._prompt(asked)})

    def _prompt(self, asked: _Asked) -> Prompt:
        prompt = as_prompt(self.placer.prompt) or Prompt()
        return Prompt("none", prompt.instruction) if asked.textless else prompt

    def _messages(self, context: object, asked: _Asked) -> list[BaseMessage]:
        prompt = self._prompt(asked)
        if isinstance(context, Placement):
            numbers = [passage.number for passage in context.block.passages]
            text = prompt.around(context.block.text, asked.query, numbers)
        elif isinstance(context, str):
            numbers = self._numbers(context) if "weak_slots" in prompt.instructions else []
            text = prompt.around(context, asked.query, numbers)
        else:
            raise TypeError(
                f"{self.context_key!r} must be documents, a Placement or the text of a block, not {context!r:.80}"
            )
        if context is asked.context:
            self._check_budget(text, asked)
        return [*asked.around, HumanMessage([{"type": "text", "text": text}, *asked.others] if asked.others else text)]

    def _check_budget(self, text: str, asked: _Asked) -> None:
        """Check what was rendered before: it cannot be cut here.

        Raises:
            BudgetError: If it is too long, with what stands around it.
        """
        budget = as_budget(self.placer.budget)
        if budget is None:
            return
        count = checked_counter(budget.counter)
        left = budget.reserving(asked.reserve).left(count) + _FRAME.count(count)  # the message itself is its text
        if (needed := count(text)) > left:
            raise BudgetError(
                f"{self.context_key!r} was rendered before, and with the question it needs {needed} tokens; history, "
                f"system message and reserve leave {max(0, left)} of the budget of {budget.tokens}. Give the documents "
                "themselves, or place them with a reserve for what stands around them"
            )

    def _numbers(self, block: str) -> list[int]:
        layout = as_layout(self.placer.layout)
        try:
            return [number for number, _ in split_block(block, layout)]
        except ValueError as error:
            raise ValueError(
                f"'weak_slots' needs the numbers of the passages, and {self.context_key!r} is a text without them: "
                "give the documents themselves, or the text of a block of the same layout"
            ) from error


def context_prompt(
    placer: EdgeOrder | None = None,
    *,
    question: QuestionPlace | None = None,
    instruction: str | Sequence[str] | None = None,
    system: str | SystemMessage | None = None,
    context_key: str = "context",
    question_key: str = "question",
    history_key: str | None = None,
) -> ContextPrompt:
    """Return a chat prompt that places documents where they are sent, so that the budget holds on all of it.

    In LCEL: `{"context": retriever, "question": RunnablePassthrough()} | context_prompt() | model`. The placer's budget
    holds on all messages, counted as `message_counter` does: block, question, instruction, system message and history.
    `create_stuff_documents_chain` joins the documents itself before the prompt gets them: there put `EdgeOrder` behind
    the retriever, with a reserve for what this prompt adds.

    Args:
        placer: How documents are placed; with layout `"numbered"` unless it says another. With `shadow=True` all of
            them are shown as they came, and what would be done is recorded.
        question: The question stands `"before"` or `"after"` the block, or on `"both"` sides; as the placer says
            without one.
        instruction: `"use_all"`, `"weak_slots"`, a text of your own, or a list of them; as the placer says without one.
        system: A system message, or its text; nothing is expanded in it.
        context_key: The variable that holds documents, a `Placement` or a rendered block. Only documents are placed
            here. The other two are checked: too long with what stands around them, they raise `BudgetError`.
        question_key: The variable that holds the question: a text, a message, or content blocks, whose images are sent
            too; `"input"` in retrieval chains.
        history_key: The variable that holds earlier messages, which stand before the block; it may be missing.

    Returns:
        A `ChatPromptTemplate` whose last message is the prompt with the block.

    Raises:
        TypeError: For something else than an `EdgeOrder`.
        ValueError: For an unknown place of the question.
    """
    placer = with_labels(placer)
    own = as_prompt(placer.prompt) or Prompt()
    prompt = Prompt(question or own.question, own.instruction if instruction is None else instruction)
    placer = type(placer).model_validate({**dict(placer), "prompt": prompt})
    history = [MessagesPlaceholder(history_key, optional=True)] if history_key else []
    literal = [part.replace("{", "{{").replace("}", "}}") for part in prompt.instructions]
    shown = Prompt(prompt.question, literal).around(f"{{{context_key}}}", f"{{{question_key}}}", ())
    return ContextPrompt(
        input_variables=[],  # found in the messages
        messages=[*history, _Outline.from_template(shown)],
        placer=placer,
        system=system,
        context_key=context_key,
        question_key=question_key,
        history_key=history_key,
    )


def split_question(question: object, key: str) -> tuple[str | None, list[Any]]:
    """Return the text of a question, a blank where it has none, and its blocks that are no text.

    Raises:
        TypeError: For anything but a text, a message, content blocks or None.
    """
    if isinstance(question, BaseMessage):
        question = question.content
    if question is None or isinstance(question, str):
        return question, []
    if not isinstance(question, list | tuple) or not all(isinstance(block, str | dict) for block in question):
        raise TypeError(f"{key!r} must be a text, a message or content blocks, not {question!r:.80}")
    texts = [block if isinstance(block, str) else block.get("text") for block in question if not _is_other(block)]
    return "\n".join(text for text in texts if text) or WORDLESS, [block for block in question if _is_other(block)]


def _is_other(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") != "text"
