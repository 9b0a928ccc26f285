"""Why was this answer wrong? A local model answers from 20 chunks, and the record of a wrong answer tells the cause.

The passages are made up, so that no model knows the answers; the gold one is ranked in the middle, as a retriever that
is unsure would rank it. The log holds placements and answers under one trace id, so that
`edgeorder explain explain.jsonl --gold ID --trace ID` tells the same from a shell.

Run it: `pip install 'edgeorder[langchain,local]'`, then
`python examples/langchain_explain.py`.
"""

import asyncio
import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from edgeorder import JsonlRecorder, Prompt, explain, read_records, record_answer
from edgeorder.probe import Case, as_model, load_cases
from edgeorder.probe.grading import is_right
from langchain_edgeorder import EdgeOrder, context_prompt

INSTRUCTION = "Answer the question in a few words with the passages below."
HEADING = (
    "A page of the register, as it was copied by hand in the spring. Names are written as the families gave them.\n"
)
FACTS = 5  # in a chunk


def retrieved(case: Case, rank: int = 9) -> list[Document]:
    """Return what a retriever gave, best first. A vector store's retriever stands here in your code."""
    at = FACTS * (rank - 1)
    facts = [fact.text for fact in (*case.distractors[:at], case.gold, *case.distractors[at:])]
    chunks = [HEADING + "\n".join(facts[start : start + FACTS]) for start in range(0, len(facts), FACTS)]
    return [Document(text, id=f"{case.id}-{number}") for number, text in enumerate(chunks)]


async def main() -> None:
    """Ask until an answer is wrong, and explain it."""
    log = Path(tempfile.mkdtemp()) / "explain.jsonl"
    placer = EdgeOrder(
        order="relevance", layout="numbered", prompt=Prompt("after", INSTRUCTION), recorders=[JsonlRecorder(log)]
    )
    model = as_model("local", max_tokens=16)

    async def answer(prompt: str) -> str:
        return (await model.ask(prompt + "\nAnswer:")).text

    chain = context_prompt(placer) | RunnableLambda(lambda prompt: prompt.to_string()) | RunnableLambda(answer)
    for case in load_cases("facts", 20, 20 * FACTS, 3):
        documents = retrieved(case)
        said = await chain.ainvoke(
            {"context": documents, "question": case.question}, {"metadata": {"trace_id": case.id}}
        )
        right = is_right(said, case.answers).full
        record_answer(case.id, said, correct=right, recorders=placer.recorders)
        if right:
            continue
        gold = next(document.id for document in documents if case.gold.text in document.page_content)
        (record,) = [record for record in read_records(log) if record.trace_id == case.id]
        found = explain(record, gold or "")
        print(f"Question: {case.question}\nAnswer:   {said.strip()!r}, where {case.answers[0]!r} is right")
        print(f"Cause:    {found.sentence}\nAdvice:   {found.advice}")
        break
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
