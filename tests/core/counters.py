"""Token counters for tests: real ones, and some that behave as badly as a counter can."""

from edgeorder import TokenCounter, approximate_counter, tiktoken_counter


def words(text: str) -> int:
    """Count white-space separated words."""
    return len(text.split())


def joined_costs_more(text: str) -> int:
    """Charge for every boundary inside a text, so that a joined text needs more than its parts."""
    return len(text.split()) + text.count("\n\n") * 3


def erratic(text: str) -> int:
    """Count by a checksum: neither additive nor monotone. Only a text of nothing is 0, which is refused of others."""
    return sum(text.encode("utf-8", "surrogatepass")) * 7919 % 23 + bool(text)


def with_start_token(text: str) -> int:
    """Count a start token on every text, as some models' tokenizers do."""
    return 1 + len(text) // 3


COUNTERS: dict[str, TokenCounter] = {
    "o200k_base": tiktoken_counter("o200k_base"),
    "cl100k_base": tiktoken_counter("cl100k_base"),
    "words": words,
    "characters": len,
    "joined_costs_more": joined_costs_more,
    "erratic": erratic,
    "with_start_token": with_start_token,
    "approximate": approximate_counter(),
}
