"""`context_prompt`: the chat prompt in which documents are placed, at the last moment before the model."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, convert_to_messages
from langchain_core.prompts import ChatPromptTemplate, HumanMessagePromptTemplate, MessagesPlaceholder
from pydantic import ConfigDict, Field
from typing_extensions import override

from edgeorder.placement import Placement
from edgeorder.prompting import Prompt, QuestionPlace, as_prompt
from edgeorder.rendering import as_layout, split_block
from langchain_edgeorder.order import EdgeOrder, with_labels

_AROUND = (
    "the messages of a ContextPrompt are made when it is formatted; put others around it: "
    "prompt + [...], or ChatPromptTemplate([..., context_prompt(...), ...])"
)


class ContextPrompt(ChatPromptTemplate):
    """A chat prompt that places its documents; `context_prompt` makes one."""

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    placer: EdgeOrder = Field(description="How documents are placed, with layout, prompt and budget.")
    system: str | None = None
    context_key: str = "context"
    question_key: str = "question"
    history_key: str | None = None

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
        context, question, around = self._read(kwargs)
        if isinstance(context, list | tuple):
            reserve = [message.text for message in around]
            context = self.placer.place(context, question, reserve=reserve if self.placer.budget else None)
        return self._messages(context, question, around)

    @override
    async def aformat_messages(self, **kwargs: Any) -> list[BaseMessage]:
        context, question, around = self._read(kwargs)
        if isinstance(context, list | tuple):
            reserve = [message.text for message in around]
            context = await self.placer.aplace(context, question, reserve=reserve if self.placer.budget else None)
        return self._messages(context, question, around)

    def _read(self, kwargs: dict[str, Any]) -> tuple[object, str | None, list[BaseMessage]]:
        """Return the context, the question, and the messages that stand before them."""
        values = self._merge_partial_and_user_variables(**kwargs)
        history = (values.get(self.history_key) or []) if self.history_key else []
        if isinstance(history, str):
            raise TypeError(f"{self.history_key!r} must be a list of messages, not {history!r:.80}")
        system = [SystemMessage(self.system)] if self.system else []
        question = values.get(self.question_key)
        if isinstance(question, BaseMessage):
            question = question.text
        return values[self.context_key], question, [*system, *convert_to_messages(history)]

    def _messages(self, context: object, question: str | None, around: Sequence[BaseMessage]) -> list[BaseMessage]:
        prompt = as_prompt(self.placer.prompt) or Prompt()
        if isinstance(context, Placement):
            text = prompt.around(context.block.text, question, sorted(context.block.citations))
        elif isinstance(context, str):
            numbers = self._numbers(context) if "weak_slots" in prompt.instructions else ()
            text = prompt.around(context, question, numbers)
        else:
            raise TypeError(
                f"{self.context_key!r} must be documents, a Placement or a rendered block, not {context!r:.80}"
            )
        return [*around, HumanMessage(text)]

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
    system: str | None = None,
    context_key: str = "context",
    question_key: str = "question",
    history_key: str | None = None,
) -> ContextPrompt:
    """Return a chat prompt that places documents where they are sent, so that the budget holds on all of it.

    In LCEL: `{"context": retriever, "question": RunnablePassthrough()} | context_prompt() | model`. The placer's budget
    counts block, question, instruction, system message and history; what a provider adds for each message belongs into
    its reserve. `create_stuff_documents_chain` joins the documents itself before the prompt gets them: there put
    `EdgeOrder` behind the retriever, and this prompt adds question and instruction.

    Args:
        placer: How documents are placed; with layout `"numbered"` unless it says another.
        question: The question stands `"before"` or `"after"` the block, or on `"both"` sides; as the placer says
            without one.
        instruction: `"use_all"`, `"weak_slots"`, a text of your own, or a list of them; as the placer says without one.
        system: The text of a system message; nothing is expanded in it.
        context_key: The variable that holds documents, a `Placement` or a rendered block. Only documents are placed
            here: for the other two, what stands around the block must have been in the reserve before.
        question_key: The variable that holds the question; `"input"` in retrieval chains.
        history_key: The variable that holds earlier messages, which stand before the block; it may be missing.

    Returns:
        A `ChatPromptTemplate` whose last message is the prompt with the block.
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
        messages=[*history, HumanMessagePromptTemplate.from_template(shown)],
        placer=placer,
        system=system,
        context_key=context_key,
        question_key=question_key,
        history_key=history_key,
    )
