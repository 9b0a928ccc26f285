"""Citations: a numbered block, an answer that cites it, and the list of sources for a user interface.

The numbers are given after placing, so `[1]` is what the model reads first. The placement goes through the chain next
to the answer, and knows which chunk each number is.

Run it: `pip install 'edgeorder[langchain,text]'`, then
`python examples/langchain_citations.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

from handbook import search
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from edgeorder import Budget, Placement, Prompt, approximate_counter
from langchain_edgeorder import EdgeOrder, context_prompt

QUESTION = "What may a hotel in Geneva cost during a trade fair?"
ANSWER = "€290 per night [1], and up to 15 percent more when no suitable room is available [2] (scripted)."

# 7,500 tokens for all of it: instruction, question (twice), the block with its labels, and 900 for the answer.
placer = EdgeOrder(
    budget=Budget(7500, approximate_counter(), reserve=900),
    layout="numbered",
    prompt=Prompt("both", "Answer from the passages only, and cite them like [1]."),
)
model = FakeListChatModel(responses=[ANSWER])


def main() -> None:
    """Ask, and show the prompt, the answer and its sources."""
    answer = context_prompt(placer) | RunnableLambda(show_prompt) | model | StrOutputParser()
    placed = {"context": RunnableLambda(place), "question": RunnablePassthrough()}
    result = (placed | RunnablePassthrough.assign(answer=answer)).invoke(QUESTION)
    block = result["context"].block

    print(f"\nThe answer: {result['answer']}\n\nIts sources:")
    cited = block.cited(result["answer"])
    for source in block.sources():
        mark = "*" if source.index in cited else " "
        print(f"  {mark} [{source.number}] {source.title}, {source.source}, p. {source.page}")
    documents = find(QUESTION)
    print(f"\nCited documents: {', '.join(str(documents[index].id) for index in cited)}")


def place(question: str) -> Placement:
    """Retrieve and place. The chain hands the placement on, so that its block is still there beside the answer."""
    return placer.place(find(question), question)


def find(question: str) -> list[Document]:
    """Return sections of the handbook, best first. A vector store's retriever stands here in your code."""
    return [
        Document(
            section.text,
            id=str(section),
            metadata={"title": section.title, "source": section.document, "page": section.number, "score": score},
        )
        for section, score in search(question, 12)
    ]


def show_prompt(value: PromptValue) -> PromptValue:
    """Print the prompt, the start of each line, and hand it on."""
    print("What the model saw:")
    for line in value.to_string().splitlines():
        print(f"  {line[:90]}")
    return value


if __name__ == "__main__":
    main()
