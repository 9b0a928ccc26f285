"""The files of a run: checked before it, whole or not at all, and none keeps another from being written."""

import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from samples import comparison, length_result, probe_result

from edgeorder import PositionProfile
from edgeorder.cli import output
from edgeorder.cli.output import Outputs
from edgeorder.files import replacing

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is rescued in the folder of the test."""
    (tmp_path / "rescued").mkdir()
    made = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", lambda prefix: made(prefix=prefix, dir=tmp_path / "rescued"))


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"rescued"}


def test_all_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Profile, JSON and report stand there whole; a check alone leaves nothing."""
    outputs = Outputs(tmp_path / "p.json", tmp_path / "all.json", tmp_path / "r.html")
    outputs.check()
    assert names(tmp_path) == set()
    assert outputs.write(probe_result(), measured=tmp_path / "p.json")
    assert names(tmp_path) == {"p.json", "all.json", "r.html"}
    assert PositionProfile.load(tmp_path / "p.json").model == "acme/reader-8b-instruct"
    assert json.loads((tmp_path / "all.json").read_text())["calls"] == 870
    assert str(tmp_path / "p.json") in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("name", ["r.HTML", "r.htm", "r.SVG", "r.Png"])
def test_a_suffix_may_be_written_in_capitals(tmp_path: Path, name: str) -> None:
    """It says what is written, however it is written itself."""
    outputs = Outputs(profile=tmp_path / "P.JSON", report=tmp_path / name)
    outputs.check()
    assert outputs.write(comparison())
    begins = {".html": b"<!doctype", ".htm": b"<!doctype", ".svg": b"<svg", ".png": b"\x89PNG"}
    assert (tmp_path / name).read_bytes().startswith(begins[Path(name).suffix.lower()])


def test_an_invalid_run_leaves_the_profile_that_was_there(tmp_path: Path) -> None:
    """No profile is made of it, and an older one stays."""
    (tmp_path / "p.json").write_text("older")
    assert Outputs(profile=tmp_path / "p.json").write(probe_result(length_result(questions=12, dropped=9)))
    assert (tmp_path / "p.json").read_text() == "older"


@needs_full
@pytest.mark.parametrize("full", ["data", "report"])
def test_a_file_that_fails_keeps_no_other_from_being_written(
    tmp_path: Path, full: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """On a full device its content is rescued among the temporary files, and the line says where."""
    files = {"profile": tmp_path / "p.json", "data": tmp_path / "all.json", "report": tmp_path / "r.html", full: FULL}
    outputs = Outputs(**files)
    assert not outputs.write(probe_result())
    assert names(tmp_path) == {file.name for file in files.values()} - {"full"}
    out, err = capfd.readouterr()
    (rescued,) = (tmp_path / "rescued").glob("*/full")
    assert (out, err) == (
        "",
        f"edgeorder: /dev/full could not be written (No space left on device); it is in {rescued}\n",
    )
    assert len(rescued.read_text()) > 1000


@needs_full
def test_a_profile_is_rescued_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """Should its disk fill up during the run, it lies among the temporary files; should that fail too, it is said."""
    assert not Outputs(profile=FULL).write(probe_result())
    (rescued,) = (tmp_path / "rescued").glob("*/full")
    assert PositionProfile.load(rescued).lengths
    capfd.readouterr()
    (tmp_path / "rescued").rename(tmp_path / "gone")
    assert not Outputs(profile=FULL, data=tmp_path / "all.json").write(probe_result())
    assert capfd.readouterr().err == "edgeorder: /dev/full could not be written (No space left on device)\n"
    assert (tmp_path / "all.json").exists()


def test_a_report_that_cannot_be_drawn_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever goes wrong in it, profile and JSON are there; a report that was there stays."""

    def fail(*given: Any) -> None:
        raise RuntimeError("no fonts\nat all")

    monkeypatch.setattr(output, "_write_report", fail)
    (tmp_path / "r.html").write_text("older")
    assert not Outputs(tmp_path / "p.json", tmp_path / "a.json", tmp_path / "r.html").write(probe_result())
    assert names(tmp_path) == {"p.json", "a.json", "r.html"}
    assert (tmp_path / "r.html").read_text() == "older"
    assert capfd.readouterr().err == (
        f"edgeorder: {tmp_path}/r.html could not be written (RuntimeError: no fonts at all)\n"
    )


def test_a_file_takes_the_place_of_another_in_one_step(tmp_path: Path) -> None:
    """Whoever reads meanwhile sees the old one whole; rights stay, a link stays one, and a failure changes nothing."""
    target, link = tmp_path / "a.json", tmp_path / "link.json"
    target.write_text("older")
    target.chmod(0o640)
    link.symlink_to(target)
    with replacing(link) as part:
        part.write_text("newer")
        assert target.read_text() == "older"
    assert (link.is_symlink(), target.read_text(), stat.S_IMODE(target.stat().st_mode)) == (True, "newer", 0o640)
    with suppress(ZeroDivisionError), replacing(target) as part:
        part.write_text("half")
        raise ZeroDivisionError
    assert (target.read_text(), names(tmp_path)) == ("newer", {"a.json", "link.json"})


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As for `--json >(jq .)`: what reads the other end gets all of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    Outputs(data=pipe).check()
    ours = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert Outputs(data=pipe).write(comparison(questions=5))
    assert json.loads(os.read(ours, 1 << 16))["calls"] == 1490
    os.close(ours)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_is_read_is_not_overwritten(tmp_path: Path) -> None:
    """The cases, and the profile of a comparison, are no place to write to, by whatever path they are named."""
    cases = tmp_path / "cases.jsonl"
    cases.write_text("")
    (tmp_path / "link").symlink_to(cases)
    for path in (cases, tmp_path / "link", tmp_path / "." / "cases.jsonl"):
        with pytest.raises(ValueError, match="is read or written by another option too; give it a name of its own"):
            Outputs(data=path).check("facts", str(cases), None)


def test_a_folder_that_may_not_be_written_is_told_before(tmp_path: Path) -> None:
    """In a folder for reading only no file can be made; the line names the file."""
    if os.geteuid() == 0:
        tmp_path = Path("/proc/self/fdinfo")  # where not even root may
    else:
        tmp_path.chmod(0o500)
    with pytest.raises(OSError, match=r"a.json (cannot be written \(.*\)|may not be written to); name another file"):
        Outputs(data=tmp_path / "a.json").check()
