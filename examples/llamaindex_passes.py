"""LlamaIndex, many nodes and a model that reads short prompts best: read in passes, then put together.

One placement of 20 nodes is split into passes, each with edges of its own. The model notes what it finds in each and
cites it by number. The numbers go on from pass to pass, so after one last call, which puts the notes together, every
citation still leads to its node. A finder of sentences stands in for a real model.

Run it: `pip install 'edgeorder[llamaindex,text]'`, then
`python examples/llamaindex_passes.py`. It needs no network.
"""

import re
from textwrap import fill
from typing import Any

from llama_index.core.llms import CompletionResponse
from llama_index.core.llms.callbacks import llm_completion_callback
from llamaindex_query_engine import QUESTION, EchoLLM, HandbookRetriever

from edgeorder import Prompt
from llamaindex_edgeorder import EdgeOrderPostprocessor

NOTE = Prompt("both", "Note what answers the question, and cite the passage of each note like [1].")


class SentenceLLM(EchoLLM):
    """A model that repeats the sentences about home and weekends, each with the number of its passage."""

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Find the sentences; one that has a number keeps it."""
        self.calls += 1
        label, notes = "", {}
        for label_line, sentence, number in re.findall(r"^(\[\d+\])|([^.\n]+\.)(?: (\[\d+\]))?", prompt, re.MULTILINE):
            label = label_line or label
            if re.search(r"\bhome\b", sentence) and "weekend" in sentence:
                notes[sentence.strip()] = number or label
        return CompletionResponse(text="\n".join(f"{sentence} {number}" for sentence, number in notes.items()))


def main() -> None:
    """Place once, read in passes, answer once."""
    llm = SentenceLLM()
    nodes = HandbookRetriever().retrieve(QUESTION)
    postprocessor = EdgeOrderPostprocessor(layout="numbered", prompt=NOTE, title_key=lambda item: item.node.node_id)
    passes = postprocessor.place(nodes, QUESTION).passes(1200)

    notes = [llm.complete(one.prompt).text for one in passes]
    for one, note in zip(passes, notes, strict=True):
        numbers, found = list(one.block.citations), one.block.cited(note)
        print(f"Passages {numbers[0]:2} to {numbers[-1]:2}: {one.prompt_tokens} tokens, {len(found)} cited")

    collected = "\n".join(filter(None, notes))
    answer = llm.complete(f"Answer from these notes and keep their citations.\n\n{collected}\n\n{QUESTION}").text
    print(f"\nThe answer, after {llm.calls} calls of the model:")
    print(fill(answer.replace("\n", " "), 100))

    print("\nIts sources:")
    for one in passes:
        for index in one.block.cited(answer):
            print(f"[{one.block.numbers[index]}] {nodes[index].node_id}, found at rank {index + 1}")


if __name__ == "__main__":
    main()
