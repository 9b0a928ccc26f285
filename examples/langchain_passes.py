"""Map, then put together: a long block is read in short passes, each with edges of its own.

Citation numbers go on from pass to pass, so what a pass cites stays right in the answer that is made of all of them.
A small deterministic model stands in place of a real one: it quotes the sentence that shares most words with the
question, under the number of its passage.

Run it: `pip install 'edgeorder[langchain,text]'`, then
`python examples/langchain_passes.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

import re
from typing import Any

from handbook import search
from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate

from edgeorder import Budget, Prompt, approximate_counter
from langchain_edgeorder import EdgeOrder, context_prompt

QUESTION = "What is the limit for a hotel per night?"
SYNTHESIS = "Put these notes together and keep their citations.\n\n{notes}\n\nQuestion: {question}"


class Quoter(SimpleChatModel):
    """Quotes the sentence of the prompt that fits the question best, with the number of the passage it stands in."""

    @property
    def _llm_type(self) -> str:
        return "quoter"

    def _call(self, messages: list[BaseMessage], stop: list[str] | None = None, *args: Any, **kwargs: Any) -> str:
        text, _, question = messages[-1].text.rpartition("Question: ")
        if text.startswith("Put these notes together"):
            return text.split("\n\n")[1].replace("\n", " ")
        asked = set(re.findall(r"\w{4,}", question.lower()))
        sentences = [
            (len(asked & set(re.findall(r"\w{4,}", sentence.lower()))), sentence.strip(), number)
            for number, body in re.findall(r"^\[(\d+)\][^\n]*\n(.*?)(?=^\[\d+\]|\Z)", text, re.MULTILINE | re.DOTALL)
            for sentence in re.split(r"(?<=[.])\s|\n", body)
        ]
        _, best, number = max(sentences, key=lambda found: found[0])
        return f"{best.rstrip('.')} [{number}]."


placer = EdgeOrder(
    budget=Budget(60_000, approximate_counter()),
    layout="numbered",
    prompt=Prompt("after", "Note what the passages say on the question, like [1]."),
)
model = Quoter()
read = context_prompt(placer) | model | StrOutputParser()
synthesise = ChatPromptTemplate.from_template(SYNTHESIS) | model | StrOutputParser()


def main() -> None:
    """Read the passes side by side, put the notes together, and look the citations up."""
    documents = find(QUESTION)
    placement = placer.place(documents, QUESTION)
    passes = placement.passes(max_tokens=2400)  # block, instruction and question of each pass
    notes = read.batch([{"context": one, "question": QUESTION} for one in passes])
    for one, note in zip(passes, notes, strict=True):
        ranks = ", ".join(map(str, one.ranks))
        print(f"A pass of {one.prompt_tokens} tokens\n  numbers: {', '.join(map(str, one.block.citations))}")
        print(f"  ranks:   {ranks}\n  note:    {note}")

    answer = synthesise.invoke({"notes": "\n".join(notes), "question": QUESTION})
    print(f"\nThe answer: {answer}\n\nIts sources:")
    for one in passes:
        for index in one.block.cited(answer):
            print(f"  [{one.block.numbers[index]}] {documents[index].id} ({documents[index].metadata['title']})")


def find(question: str) -> list[Document]:
    """Return sections of the handbook, best first. A vector store's retriever stands here in your code."""
    return [
        Document(section.text, id=str(section), metadata={"title": section.title, "source": section.document})
        for section, _ in search(question, 15)
    ]


if __name__ == "__main__":
    main()
