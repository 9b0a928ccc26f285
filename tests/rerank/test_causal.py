"""A cross-encoder that is a causal model with a chat template, as Qwen3-Reranker is: its template counts."""

import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

from edgeorder import EdgeOrderWarning, RerankError
from edgeorder.rerank import CrossEncoderScorer

TEMPLATE = """{{ messages | selectattr("role", "eq", "system") | map(attribute="content") | list | string }}
judge whether the passage meets what is asked , answer yes or no . query :
{{ (messages | selectattr("role", "eq", "query") | first).content[0].text }} passage :
{{ (messages | selectattr("role", "eq", "document") | first).content[0].text }} answer :"""
WORDS = [f"w{number}" for number in range(200)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return such a model, very small and with random weights; its tokens are words."""
    from sentence_transformers import CrossEncoder
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
    from transformers import logging as transformers_logging

    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers_logging.disable_progress_bar()
    known = ["<unk>", "<pad>", "<end>", "yes", "no", *"01234", *WORDS]
    marks = {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "<end>"}
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(known)}, marks["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=96, **marks)
    fast.chat_template = TEMPLATE
    folder: Path = tmp_path_factory.mktemp("causal")
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Qwen2Config(vocab_size=len(known), num_key_value_heads=2, max_position_embeddings=96, **size)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    transformers_logging.enable_progress_bar()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoder = CrossEncoder(str(folder), device="cpu")
    fast.padding_side = "left"
    encoder[0].processor = fast  # the library would read it back as Qwen's own, which has no words
    return encoder


def reached(encoder: Any, query: str, text: str, prompt: str | None = None) -> list[str]:
    """Return the words of the passage that reach the model."""
    features = encoder.preprocess([(query, text)], prompt=prompt)
    return [word for word in encoder.tokenizer.decode(features["input_ids"][0]).split() if word in WORDS[10:]]


QUERY = "w1 w2 w3"


@pytest.mark.filterwarnings("ignore:1 of 1 passages are longer:edgeorder.EdgeOrderWarning")
@pytest.mark.parametrize("prompt", [None, "w4 w5 w6 w7 w8"])
def test_the_template_is_counted(encoder: Any, prompt: str | None) -> None:
    """The room for a passage is what template, prompt and query leave, but for two tokens for seams."""
    scorer = CrossEncoderScorer(encoder, prompt=prompt)
    reader = scorer._reader()
    assert reader is not None
    room = reader.window - reader.around(QUERY)
    assert 40 < room < 80
    text = " ".join(WORDS[10 : 10 + room])
    assert reached(encoder, QUERY, text, prompt) == text.split()
    assert len(encoder.preprocess([(QUERY, text)], prompt=prompt)["input_ids"][0]) == reader.window - 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scorer(QUERY, [text])
    with pytest.warns(EdgeOrderWarning, match="1 of 2 passages are longer than the 96 tokens"):
        scorer(QUERY, [text + " w100", "w101"])


def test_windows_are_whole(encoder: Any) -> None:
    """What is found in a window far into a passage is what is found in it alone."""
    from edgeorder.scorers.windows import fitted

    scorer = CrossEncoderScorer(encoder, long_passages="window")
    passage = " ".join(WORDS[10:190])
    shown, pieces, _ = fitted(scorer._reader(), QUERY, [passage], "window")
    assert len(pieces) > 3
    assert all(reached(encoder, shown, piece) == piece.split() for piece in pieces)
    assert scorer(QUERY, [passage])[0] == pytest.approx(max(scorer(QUERY, pieces)), abs=1e-5)


def test_a_prompt_is_passed_on(encoder: Any) -> None:
    """An instruction changes the scores, as it does where the library is asked for it."""
    texts = ["w20 w21", "w30"]
    with_it = CrossEncoderScorer(encoder, prompt="w4 w5")(QUERY, texts)
    pairs = [(QUERY, text) for text in texts]
    import torch

    expected = encoder.predict(pairs, prompt="w4 w5", activation_fn=torch.nn.Identity()).tolist()
    assert with_it == pytest.approx(expected, abs=1e-5)
    assert with_it != pytest.approx(CrossEncoderScorer(encoder)(QUERY, texts), abs=1e-5)

    class Bare:
        def predict(self, pairs: Any) -> list[float]:
            return [1.0] * len(pairs)

    with pytest.raises(RerankError, match=r"CrossEncoderScorer\(Bare\) takes no prompt"):
        CrossEncoderScorer(Bare(), prompt="x")("q", ["a"])
