"""A LangChain chain with `EdgeOrder` between the retriever and the prompt, a scripted model in place of a real one.

Shows what the model saw, and two ways to get at what edgeorder did: the placement as a step of the chain, and
`capture()` around a chain that stays as it was.

Run it: `pip install 'edgeorder[langchain,text]'`, then
`python examples/langchain_chain.py`. It needs no network and no tokenizer: tokens are counted by
`approximate_counter`, an upper bound.
"""

from textwrap import shorten

from handbook import search
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from edgeorder import Budget, OrderRecord, Placement, approximate_counter, capture
from langchain_edgeorder import EdgeOrder

QUESTION = "What may a hotel in Geneva cost during a trade fair?"
TEMPLATE = "Answer from the context only.\n\nContext:\n{context}\n\nQuestion: {question}"


class HandbookRetriever(BaseRetriever):
    """Finds sections of the handbook; `source` and `chunk_index` tell edgeorder which of them are neighbours."""

    k: int = 12

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(
                section.text,
                id=str(section),
                metadata={"source": section.document, "chunk_index": section.number, "score": score},
            )
            for section, score in search(query, self.k)
        ]


prompt = ChatPromptTemplate.from_template(TEMPLATE)
model = FakeListChatModel(responses=["€290 per night, from the evening before the fair to its last day (scripted)."])
# 7,500 tokens for everything: what the template needs, and 900 tokens for question and answer, are kept free.
placer = EdgeOrder(budget=Budget(7500, approximate_counter(), reserve=[TEMPLATE, 900]))


def main() -> None:
    """Run the chain both ways."""
    print("1. The chain\n")
    with capture() as records:
        answer = plain_chain().invoke(QUESTION)
    print(f"\nThe answer: {answer}\n\nWhat capture() collected:")
    show_record(records[0])

    print("\n2. The same with the placement in its output\n")
    output = chain_with_placement().invoke(QUESTION)
    print(f"The answer: {output['answer']}\nThe placement: {output['placement']}")


def plain_chain() -> Runnable[str, str]:
    """Return the usual chain; only the step after the retriever is new."""
    # Before: HandbookRetriever() | RunnableLambda(LongContextReorder().transform_documents) | join
    context = HandbookRetriever() | placer | join
    return (
        {"context": context, "question": RunnablePassthrough()}
        | prompt
        | RunnableLambda(show_prompt)
        | model
        | StrOutputParser()
    )


def chain_with_placement() -> Runnable[str, dict[str, object]]:
    """Return a chain that gives the question, the placement and the answer."""
    place = HandbookRetriever() | RunnableLambda(placer.place)
    answer = RunnablePassthrough.assign(context=block) | prompt | model | StrOutputParser()
    return {"question": RunnablePassthrough(), "placement": place} | RunnablePassthrough.assign(answer=answer)


def join(documents: list[Document]) -> str:
    """Return the text of the documents, joined as edgeorder counts it: with a blank line in between."""
    return "\n\n".join(document.page_content for document in documents)


def block(values: dict[str, Placement]) -> str:
    """Return the text of the placement, which is the very text that was counted."""
    return values["placement"].block.text


def show_prompt(value: PromptValue) -> PromptValue:
    """Print the prompt, the start of each paragraph, and hand it on."""
    print("What the model saw:")
    for paragraph in value.to_string().split("\n\n"):
        print(f"  {shorten(paragraph, 96)}")
    return value


def show_record(record: OrderRecord) -> None:
    """Print where each kept chunk sits, and what was dropped."""
    print(f"  order {record.order} ({record.reason})")
    print(f"  {record.tokens} tokens in a room of {record.room}, by {record.counter}")
    print("  position  rank  tokens  section")
    for chunk in record.placed:
        print(f"  {chunk.position:8}  {chunk.rank:4}  {chunk.tokens:6}  {chunk.id}")
    for chunk in record.dropped:
        print(f"   dropped  {chunk.rank:4}  {chunk.tokens or '-':>6}  {chunk.id} ({chunk.dropped})")


if __name__ == "__main__":
    main()
