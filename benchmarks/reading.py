"""Which neighbours reading order finds, and which it invents: `python benchmarks/reading.py [trials]`.

Generated corpora are cut by the real splitters of both frameworks, chunks are retrieved at random or in clusters, and
every pair in a run is compared with the documents. `told` is the share of true neighbour pairs whose locations can be
compared at all: chunks of two pages, sections or parents cannot be by their characters.
"""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "reading"))

from corpora import LANGCHAIN, LLAMAINDEX, cut, judge, retrieve


def share(part: int, whole: int) -> str:
    """Return a share in percent."""
    return f"{part / whole:>6.1%}" if whole else "     -"


def main(trials: int = 200, k: int = 10) -> None:
    """Print a line for each way to cut and to retrieve."""
    print(f"{trials} retrievals of {k} chunks for each line")
    print(
        f"{'':<61}{'pairs':>6}  {'false':>6} | {'true':>6}   {'told':>6}  {'found':>6} | best chunk deeper than third"
    )
    for framework, names in (("LangChain", LANGCHAIN), ("LlamaIndex", LLAMAINDEX)):
        print(framework)
        for name in names:
            for how in ("random", "clustered"):
                rng = random.Random(f"{name} {how}")
                found = [judge(retrieve(cut(name), how, k, rng)) for _ in range(trials)]
                false, joined, in_run, told, true = (sum(one[at] for one in found) for at in range(5))
                deep = sum(one.best > 2 for one in found)
                print(
                    f"  {name:<48} {how:<10}{joined:>6} {share(false, joined)} | {true:>6} {share(told, true)} "
                    f"{share(in_run, true)} | {deep}"
                )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
