"""Make the folder that `OnnxCrossEncoderScorer` reads, from any cross-encoder of sentence-transformers."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgeorder.errors import missing_extra

OPSET = 17


def export_onnx(model: str, folder: str | Path, *, int8: bool = False) -> list[Path]:
    """Write `tokenizer.json`, `config.json` and `onnx/model.onnx`, with int8 also `onnx/model_int8.onnx`.

    Args:
        model: A name on the hub or a folder of a cross-encoder that sentence-transformers loads.
        folder: Where to write; made if it is missing.
        int8: Whether to add a dynamically quantized model: smaller and faster, its scores a little off.

    Returns:
        The model files written.

    Raises:
        ImportError: If sentence-transformers, onnx or onnxruntime is not installed.
        ValueError: If the model has no fast tokenizer, which the runtime needs.
    """
    try:
        import torch
        from sentence_transformers import CrossEncoder
    except ImportError as error:
        raise missing_extra("sentence-transformers", "rerank") from error
    try:
        import onnx
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.transformers.optimizer import optimize_model
    except ImportError as error:
        raise missing_extra(str(error.name), "export") from error
    # Written-out attention is what ONNX Runtime knows how to fuse.
    encoder = CrossEncoder(model, device="cpu", model_kwargs={"attn_implementation": "eager"})
    if not encoder.tokenizer.is_fast:
        raise ValueError(f"{model} has no fast tokenizer (tokenizer.json), which ONNX scoring needs")
    target = Path(folder)
    (target / "onnx").mkdir(parents=True, exist_ok=True)
    encoder.tokenizer.save_pretrained(target)
    network = encoder.model.eval()
    network.config.save_pretrained(target)
    sample = encoder.tokenizer([("a question", "some passage"), ("b", "c")], padding=True, return_tensors="pt")
    names = list(sample)

    class Logits(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            return self.network(**dict(zip(names, inputs, strict=True)), return_dict=True).logits

    exact, quantized = target / "onnx" / "model.onnx", target / "onnx" / "model_int8.onnx"
    with _quiet():
        # Not the newer exporter (dynamo): ONNX Runtime fuses less of its graphs, and they ran a fifth slower.
        torch.onnx.export(
            Logits().eval(),
            tuple(sample[name] for name in names),
            exact,
            input_names=names,
            output_names=["logits"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in names} | {"logits": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )
        if int8:
            quantize_dynamic(
                exact,
                quantized,
                weight_type=QuantType.QInt8,
                per_channel=True,
                extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
            )
        heads, hidden = (getattr(network.config, name, 0) for name in ("num_attention_heads", "hidden_size"))
        optimize_model(str(exact), "bert", heads or 0, hidden or 0, opt_level=0).save_model_to_file(str(exact))
    return [exact, quantized] if int8 else [exact]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporters' notes on their own internals from the user's terminal."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
