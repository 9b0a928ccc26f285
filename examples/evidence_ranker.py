"""Let a model rank what was retrieved, and retrieve once more where it found too little.

The model here is a stand-in that needs no key: it reads the prompt as a model does, and counts words of the question.
Put a LangChain chat model, a LlamaIndex LLM or any function from text to text in its place.

Run it: `pip install 'edgeorder[ranker,text]'`, then
`python examples/evidence_ranker.py`. It needs no network.
"""

import json
import re

from handbook import search

from edgeorder import Chunk, place
from edgeorder.rerank import EvidenceRanker, Ranking, diversity, max_ranked, worth_ranking

QUESTION = "May I keep what is paid for the time that I lost on a trip?"
WANTED = {"keep", "compensation", "time", "lost"}  # what it would look for

PASSAGE = re.compile(r'<passage-\w+ id="(\w+)">\n(.*?)\n</passage-', re.DOTALL)


def model(prompt: str) -> str:
    """Answer as a model would: some chatter, and the JSON that was asked for."""
    ranked, unranked = [], []
    for label, text in PASSAGE.findall(prompt):
        found = sorted(WANTED & set(re.findall(r"\w+", text.lower())))
        if not found:
            unranked.append(label)
            continue
        score = 1 + 9 * len(found) / len(WANTED)
        why = f"what it says has to do with {' and '.join(found)}"
        scores = {f"{name}_score": round(score, 1) for name in ("relevance", "specificity", "support_strength")}
        ranked.append({"passage_id": label, **scores, "rationale": why})
    reply = {"ranked_passages": ranked, "unranked_passages": unranked, "ranking_notes": ""}
    return f"Here is my ranking:\n```json\n{json.dumps(reply)}\n```"


ranker = EvidenceRanker(
    model,
    constraints=[max_ranked(4), diversity(per_source=2)],
    least_tier="high",  # unless a passage is that good, retrieve again
)


def main() -> None:
    """Rank two sections; where none is good enough, rank twenty."""
    for k in (2, 20):
        chunks = [
            Chunk(section.text, source=section.document, offset=section.number, id=str(section))
            for section, _ in search(QUESTION, k)
        ]
        if not (worth := worth_ranking(chunks)):
            print(f"k={k}: not worth asking a model: {worth.reason}")
            continue
        ranking = ranker.rank(QUESTION, chunks)
        show(k, ranking)
        if ranking.decision != "retrieve again":
            break
    best = [chunks[one.index] for one in ranking.ranked]
    print(f"\nThe block, from head to tail: {', '.join(place(best, order='bookend').apply([one.id for one in best]))}")


def show(k: int, ranking: Ranking) -> None:
    """Print a ranking."""
    print(f"k={k}: {ranking.status}, {ranking.decision} {'; '.join(ranking.reasons)}".rstrip())
    for one in ranking.ranked:
        print(f"  {one.rank}  {one.score:.2f}  {one.tier:12}  {one.id:13}  {one.rationale}")
    for note in ranking.notes:
        print(f"  note: {note}")


if __name__ == "__main__":
    main()
