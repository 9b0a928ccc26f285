"""Make the folder that `OnnxCrossEncoderScorer` reads, from any cross-encoder of sentence-transformers."""

import logging
import warnings
from pathlib import Path
from typing import Any

from edgeorder.extras import optional
from edgeorder.scorers.crossencoder import load_encoder

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
        RerankError: If there is no such folder or model, or no way to the hub.
        ValueError: If the model has no fast tokenizer, which the runtime needs.
    """
    with optional("onnx", "export"):
        import onnx
    with optional("onnxruntime", "export"):
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from onnxruntime.transformers.optimizer import optimize_model
    # Written-out attention is what ONNX Runtime knows how to fuse.
    encoder = load_encoder(model, {"device": "cpu", "model_kwargs": {"attn_implementation": "eager"}})
    import torch

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


def export_command(model: str, folder: str | Path, *, int8: bool = False) -> list[Path]:
    """The same without the exporters' notes on their own internals: for a process that does nothing else.

    Warning filters and the switch of logging belong to the whole process, so `export_onnx` leaves them alone.
    """
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    return export_onnx(model, folder, int8=int8)
