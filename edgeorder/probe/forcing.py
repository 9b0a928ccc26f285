"""How likely the local model finds an answer: the answer is forced upon it, and it says at what probability.

A grammar of the answer's own tokens leaves the model no choice, and the probabilities that its server tells are those
before the grammar. Letters in place of tokens would let it spell the answer by pieces that it would never choose.
"""

import json
import urllib.request
from typing import Any

_LONGEST = 600  # seconds; the server does one thing at a time


def forced(server: Any, key: str, prompt: str, answer: str) -> dict[str, Any]:
    """Return the log-probability of an answer after a prompt, in the form of a completion whose text is the number.

    Args:
        server: A running `xllamacpp.Server`.
        key: What it lets in.
        prompt: The prompt; the answer follows after a space.
        answer: The answer.
    """
    try:
        tokens = _tokens(server, key, f" {answer}")
    except (OSError, ValueError, KeyError) as error:
        return {"error": {"message": f"the answer cannot be read in tokens: {error}"}}
    found: dict[str, Any] = server.handle_completions(
        {
            "prompt": prompt,
            "max_tokens": len(tokens),
            "temperature": 0,
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
            "logprobs": 1,
            "cache_prompt": True,
        }
    )
    if "error" not in found:
        (choice,) = found["choices"]
        told = [part["logprob"] for part in choice["logprobs"]["content"]]
        if len(told) != len(tokens):
            return {"error": {"message": f"{len(told)} of {len(tokens)} tokens of the answer were told"}}
        choice["text"] = repr(sum(told))
    return found


def _tokens(server: Any, key: str, text: str) -> list[int]:
    request = urllib.request.Request(  # noqa: S310 - an address of this machine
        f"{server.listening_address}/tokenize",
        json.dumps({"content": text, "add_special": False, "parse_special": False}).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {key}"},
    )
    with urllib.request.urlopen(request, timeout=_LONGEST) as reply:  # noqa: S310
        tokens: list[int] = json.load(reply)["tokens"]
    return tokens
