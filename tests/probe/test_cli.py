"""The command line: the probe and the comparison against a real endpoint that reads what it is sent."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from endpoints import completion
from readers import box
from reading import ReadingEndpoint, case_file, reading
from typer.testing import CliRunner

from edgeorder import PositionProfile
from edgeorder.cli import main
from edgeorder.cli.app import app
from edgeorder.orders import ORDERS
from edgeorder.profile import LengthProfile


@pytest.fixture
def server() -> Iterator[ReadingEndpoint]:
    """Return a running endpoint that reads."""
    with reading() as running:
        yield running


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Return a file of 30 cases of 8 passages."""
    return case_file(tmp_path / "cases.jsonl", 30, 8)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(server: ReadingEndpoint, questions: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Run:
    """Return what runs a command as `main` does: exit code, stdout with its lines unwrapped, stderr."""

    def run(command: str, *options: object) -> tuple[int, str, str]:
        given = {"--base-url": server.url, "--cases": questions, "--chunks": "8", "--concurrency": "1"}
        if command == "probe":
            given["--depths"] = "5"
        own = [str(option) for option in options]
        rest = [part for name, value in given.items() if name not in own for part in (name, str(value))]
        arguments = [command, "--model", "m", *rest, *own]
        monkeypatch.setattr(sys, "argv", ["edgeorder", *arguments])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("probe", ["--depths", "--fixed", "--until-proved", "--out"]),
        ("compare", ["--orders", "--profile"]),
    ],
)
def test_help_tells_every_option(command: str, options: list[str]) -> None:
    """The help of a command names its options and what the exit codes mean."""
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert shown.exit_code == 0
    common = ["--model", "--base-url", "--cases", "--questions", "--chunks", "--question", "--seed", "--report"]
    common += ["--json", "--cache", "--style", "--instruction", "--concurrency", "--max-tokens", "--dry-run", "--judge"]
    common += ["--judge-base-url"]
    for option in (*common, *options):
        assert option in shown.output
    assert "Exit code" in shown.output


def test_the_version_is_told() -> None:
    """Name and version, as the package has it."""
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"edgeorder {version('edgeorder')}\n")


def test_a_probe_from_question_to_profile(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """The tables, the verdict and what to do are shown; profile, report and JSON are written and agree."""
    out, report, data = tmp_path / "p.json", tmp_path / "r.html", tmp_path / "all.json"
    code, shown, err = run("probe", "--fixed", "--out", out, "--report", report, "--json", data)
    assert (code, err) == (0, "")
    assert len(server.asked) == 30 * 7
    assert "8 chunks: recency: the tail is read best (proved at question" in shown
    assert re.search(r"^ *8 of 8 +1\.00 +30 of 30 +100 %", shown, re.MULTILINE)
    assert re.search(r"^ *1 of 8 +0\.00 +0 of 30 +0 %", shown, re.MULTILINE)
    assert "Floor, closed book: 0 % (0 of 30" in shown
    assert "Ceiling, gold only: 100 % (30 of 30" in shown
    assert shown.splitlines()[-1] == f"profile: {out}"
    measured = PositionProfile.load(out)
    assert (measured.model, measured.lengths[0].proved, measured.lengths[0].questions) == ("m", True, 30)
    assert measured.order(8)[-1] == 0
    assert measured.prompt is not None
    assert measured.prompt["cases"].endswith("cases.jsonl")
    found = json.loads(data.read_text())
    assert [question["right"] for question in found["lengths"][0]["questions"]] == [[0, 0, 0, 1, 1]] * 30
    assert (found["calls"], found["lengths"][0]["prompt_tokens"]) == (210, 40 * 5 * 30)
    assert found["command"].startswith("edgeorder probe --model m --base-url http://127.0.0.1:")
    html = report.read_text()
    assert "recency" in html
    assert str(out) in html


def test_the_command_that_a_result_names_gives_it_again(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """With a cache the same command asks nothing again, and finds the same."""
    data, cache = tmp_path / "all.json", tmp_path / "new" / "folder"
    options = ("--until-proved", "--json", data, "--cache", cache)
    first = run("probe", *options)
    found, asked = json.loads(data.read_text()), len(server.asked)
    assert asked == found["calls"] > 0
    second = run("probe", *options)
    again = json.loads(data.read_text())
    assert (first, len(server.asked), again["calls"]) == (second, asked, 0)
    for name in ("date", "seconds", "calls"):
        del found[name], again[name]
    assert found == again
    assert found["lengths"][0]["stopped"] == "proved"


def test_a_killed_command_goes_on_where_it_stopped(server: ReadingEndpoint, questions: Path, tmp_path: Path) -> None:
    """A real process is killed by SIGKILL in the middle; the same command finishes, and no answer is asked twice."""
    gone = threading.Event()

    def says(prompt: str) -> None:
        if len(server.asked) > 60:
            gone.wait(300)  # it is killed while it waits for this answer, however long that takes us

    server.says = says
    command = [sys.executable, "-W", "error", "-c", "from edgeorder.cli import main; main()", "probe", "--model", "m"]
    command += ["--base-url", server.url, "--cases", str(questions), "--chunks", "8", "--depths", "5", "--fixed"]
    command += ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "p.json"), "--concurrency", "1"]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as killed:
        deadline = time.monotonic() + 300
        while len(server.asked) <= 60:
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
    gone.set()
    assert killed.returncode == -signal.SIGKILL
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert "30 asked" in done.stdout
    prompts = [request["messages"][0]["content"] for request in server.asked]
    assert len({*prompts}) == 30 * 7
    assert len(prompts) - 30 * 7 <= 1
    assert PositionProfile.load(tmp_path / "p.json").lengths[0].proved


@pytest.mark.parametrize(
    ("command", "options", "calls"),
    [
        ("probe", (), 30 * 7),
        ("probe", ("--questions", 4, "--chunks", "5,8", "--depths", 3), 2 * 4 * 5),
        ("compare", ("--orders", "relevance,reverse", "--question", "after,both"), 30 * 2 * 2),
    ],
)
def test_a_dry_run_asks_nothing(
    run: Run, server: ReadingEndpoint, tmp_path: Path, command: str, options: Any, calls: int
) -> None:
    """It says how many calls and tokens a run takes at most, and that a cache will tell the time."""
    code, shown, err = run(command, "--dry-run", "--cache", tmp_path, *options)
    assert (code, err, server.asked) == (0, "", [])
    assert re.match(rf"at most {calls} calls and [\d,]+ prompt tokens \(by o200k_base\)", shown)
    assert "The cache tells the time after a few answers" in shown
    assert shown.rstrip().endswith("Nothing was asked.")


def test_a_dry_run_knows_the_pace_of_what_the_cache_holds(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """After a run the estimate has minutes, at the pace of that model."""
    server.pause = 0.03
    run("probe", "--cache", tmp_path, "--questions", 2, "--fixed")
    asked = len(server.asked)
    _, shown, _ = run("probe", "--cache", tmp_path, "--cases", "facts", "--questions", 1200, "--dry-run")
    (minutes,) = re.findall(r"At the pace of the answers in the cache: (\d+) minutes", shown)
    assert 8400 * 0.03 / 60 - 1 <= int(minutes) <= 8400 * 0.3 / 60
    assert len(server.asked) == asked


def test_a_comparison_of_orders(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """Arms are shown best first with the difference to the best; report and JSON are written."""
    measured = tmp_path / "p.json"
    curve = LengthProfile(8, 60, "recency", "measured", 0.3, 0.2, 0.4, (0.1, 0.5, 0.9))
    PositionProfile("m", (curve,)).save(measured)
    data, report = tmp_path / "all.json", tmp_path / "r.html"
    code, shown, err = run(
        "compare",
        "--orders",
        "relevance,bookend,measured,shuffled",
        "--profile",
        measured,
        "--json",
        data,
        "--report",
        report,
    )
    assert (code, err) == (0, "")
    assert len(server.asked) == 30 * 4
    assert re.search(r"^ *measured +after +8 +100 % +\S+ % +best", shown, re.MULTILINE)
    assert re.search(r"^ *bookend +after +8 +0 % .* −100\.0", shown, re.MULTILINE)
    assert "Most right answers: measured, question after, top 8, 100 % (30 of 30" in shown
    found = json.loads(data.read_text())
    assert [(arm["order"], sum(arm["right"])) for arm in found["arms"]][:3] == [
        ("relevance", 0),
        ("bookend", 0),
        ("measured", 30),
    ]
    assert "measured" in report.read_text()
    assert found["setup"]["gold_ranks"] == "from the data"


@pytest.mark.parametrize(("suffix", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG")])
@pytest.mark.parametrize("command", ["probe", "compare"])
def test_a_report_may_be_a_figure_alone(run: Run, tmp_path: Path, command: str, suffix: str, begins: bytes) -> None:
    """The suffix of the report says what it is."""
    code, _, err = run(command, "--report", tmp_path / f"figure{suffix}")
    assert (code, err) == (0, "")
    assert (tmp_path / f"figure{suffix}").read_bytes().startswith(begins)


@pytest.mark.parametrize("report", ["r.html", "r.svg"])
def test_too_many_unusable_replies_end_with_code_3(
    run: Run, server: ReadingEndpoint, tmp_path: Path, report: str
) -> None:
    """The run stops, says why and what to do, and what was found is still shown and written; no profile is made."""

    def says(prompt: str) -> dict[str, Any] | int | None:
        spoilt = "Question:" in prompt and box(prompt[prompt.index("Question:") :]) % 3 == 0
        return {"status": 400, "message": "the prompt is too long"} if spoilt else None

    server.says = says
    out, data, cache = tmp_path / "p.json", tmp_path / "all.json", tmp_path / "cache"
    options = ("--json", data, "--cache", cache, "--report", tmp_path / report)
    code, shown, err = run("probe", "--fixed", "--out", out, *options)
    assert code == 3
    assert re.fullmatch(
        r"edgeorder: too many replies were unusable; 7 unusable: status 400 \(400: .*too long.*\); "
        r"see what it refuses.* needs fewer --chunks; no profile was made of this run\n",
        err,
    )
    assert "invalid: 7 of 19 questions had no usable reply" in shown
    assert re.search(r"Unusable replies: 7 unusable: status 400 \(400: .*too long", shown)
    assert not out.exists()
    assert "profile:" not in shown
    (length,) = json.loads(data.read_text())["lengths"]
    assert (length["dropped"], length["stopped"]) == (7, "too many unusable replies")
    assert [(fault["kind"], fault["count"]) for fault in length["faults"]] == [("status 400", 7)]
    if report.endswith(".html"):
        assert "7 unusable: status 400" in (tmp_path / report).read_text()
    asked = len(server.asked)
    assert run("probe", "--fixed", "--cache", cache)[0] == 3
    assert len(server.asked) - asked == 7  # its answers were kept
    code, shown, err = run("compare", "--orders", "relevance")
    assert (code, "7 of 19 questions were left out" in shown) == (3, True)
    assert err.startswith("edgeorder: too many replies were unusable; 7 unusable: status 400 (400: ")


def test_a_judge_grades(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """With --judge a model says of each answer whether it is right; the result names it."""

    def says(prompt: str) -> dict[str, Any] | int | None:
        return completion("Yes." if "Answer: amber" in prompt else "no") if "Reply yes or no." in prompt else None

    server.says = says
    data = tmp_path / "all.json"
    code, _, err = run("probe", "--judge", "wise", "--json", data, "--questions", 3)
    assert (code, err) == (0, "")
    found = json.loads(data.read_text())
    assert found["setup"]["judge"] == "wise"
    assert [question["right"] for question in found["lengths"][0]["questions"]] == [[0, 0, 0, 1, 1]] * 3
    assert [request["model"] for request in server.asked].count("wise") == 3 * 7
    server.says = lambda prompt: {"status": 400, "message": "tired"} if "Reply yes or no." in prompt else None
    code, _, err = run("probe", "--judge", "wise", "--questions", 3)
    assert code == 3
    assert re.search(
        r"; 1 unusable: the judge failed \(400: .*tired.*\); mend what it says, or take another judge;", err
    )
    _, shown, _ = run("probe", "--judge", "wise", "--dry-run")
    assert "The judge is asked once more for each." in shown


def test_the_limit_of_an_answer_follows_the_longest_known(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """The whole file says how long answers are; what is asked for stands in the result."""
    data = tmp_path / "all.json"
    run("compare", "--orders", "relevance", "--questions", 2, "--json", data)
    assert {request["max_tokens"] for request in server.asked} == {100}
    assert json.loads(data.read_text())["setup"]["max_tokens"] == 100
    rows = [{"question": f"{n}?", "answers": ["amber" * (n + 1) * 10], "chunks": [{"text": f"box {n}", "gold": True}]}
            for n in range(9)]  # fmt: skip
    long = tmp_path / "long.jsonl"
    long.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for more, limit in ((), 304), (("--max-tokens", 5), 5):
        server.asked.clear()
        run("compare", "--orders", "relevance", "--questions", 2, "--cases", long, *more)
        assert {request["max_tokens"] for request in server.asked} == {limit}


def test_a_password_in_an_address_is_stored_nowhere(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """Profile, JSON, report, answers and terminal name the endpoint without it."""
    url = server.url.replace("http://", "http://me:planted77pass@")
    options = ("--json", tmp_path / "all.json", "--report", tmp_path / "r.html", "--cache", tmp_path / "cache")
    code, shown, err = run("probe", "--base-url", url, "--questions", 2, "--out", tmp_path / "p.json", *options)
    assert (code, err) == (0, "")
    assert server.asked
    assert "--base-url http://" in json.loads((tmp_path / "all.json").read_text())["command"]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) == 5
    assert b"planted77pass" not in b"".join([shown.encode(), *(file.read_bytes() for file in files)])


def test_a_wrong_key_is_one_line(run: Run, server: ReadingEndpoint, tmp_path: Path) -> None:
    """What no retry mends ends the run at its first call, with code 1 and no file."""
    server.says = lambda prompt: 401
    code, shown, err = run("probe", "--out", tmp_path / "p.json")
    assert (code, shown, len(server.asked)) == (1, "", 1)
    assert re.fullmatch(r"edgeorder: m at http://\S+ refuses \(401\): the key is not accepted: .*\n", err)
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        (
            "probe",
            ("--chunks", "many"),
            "--chunks='many' must be whole numbers with commas between, such as 10,20",
        ),
        ("probe", ("--chunks", "8,"), "--chunks='8,' must be whole numbers"),
        ("probe", ("--chunks", "8,8"), "--chunks='8,8' must be different numbers from 2 up"),
        ("compare", ("--chunks", "0,8"), "--chunks='0,8' must be different numbers from 2 up"),
        ("probe", ("--depths", "9"), "depths=9 must be from 3 to the number of chunks, 8"),
        ("probe", ("--chunks", 10**20), "distractors, and the file's other cases make them"),
        ("compare", ("--chunks", "9" * 5000), "must be whole numbers"),
        ("probe", ("--chunks", "1.5"), "--chunks='1.5' must be whole numbers"),
        ("probe", ("--cases", "kv", "--chunks", 10**20), "are more than 1,000,000 passages; make fewer"),
        ("probe", ("--cases", "facts", "--questions", 10**6), "1000000 cases of 8 chunks are more than 1,000,000"),
        ("probe", ("--question", "sideways"), "--question='sideways' is not one of: before, after, both"),
        ("probe", ("--question", "none"), "--question='none' is not one of: before, after, both"),
        ("probe", ("--question", "after,both"), "a probe is asked one way; `edgeorder compare` takes several"),
        ("compare", ("--question", "after,none"), "--question='none' is not one of: before, after, both"),
        ("compare", ("--question", "after,after"), "--question='after,after' names one twice"),
        ("probe", ("--cases", "none.jsonl"), "cases 'none.jsonl': there is no such file, and it is not one of: facts"),
        ("probe", ("--cases", "."), ". is a folder; name a file of JSON lines"),
        ("probe", ("--fixed", "--until-proved"), "--fixed and --until-proved contradict each other"),
        ("probe", ("--judge-base-url", "http://localhost"), "--judge-base-url needs --judge MODEL"),
        ("probe", ("--instruction", "Say \udcff it"), "is not UTF-8"),
        ("probe", ("--cache", "/dev/null"), "--cache /dev/null is a file; name a folder"),
        ("probe", ("--out", "p.yaml"), "--out p.yaml must end in .json"),
        ("probe", ("--out", "profile"), "--out profile must end in .json"),
        ("probe", ("--report", "r.pdf"), "--report r.pdf must end in .html or .htm or .svg or .png"),
        ("compare", ("--report", "r"), "--report r must end in .html"),
        ("probe", ("--json", "/dev"), "/dev is a folder; name a file in it"),
        ("probe", ("--json", "/dev/null/a"), "no folder /dev/null to write a in; make it first"),
        ("probe", ("--json", "a" * 300), "cannot be written (File name too long); name another file"),
        ("probe", ("--out", "a.json", "--json", "./a.json"), "is read or written by another option too"),
        ("probe", ("--instruction", "weak-slots"), "instruction='weak-slots' is not one of"),
        ("probe", ("--out", "/no/folder/p.json"), "no folder /no/folder to write p.json in; make it first"),
        ("compare", ("--json", "/no/folder/p.json"), "no folder /no/folder to write p.json in; make it first"),
        ("compare", ("--orders", "best"), f"--orders='best' is not one of: {', '.join(ORDERS)}, shuffled, measured"),
        ("compare", ("--orders", "auto"), "--orders='auto' is not one of: relevance,"),
        ("compare", ("--orders", ""), "--orders='' is not one of: relevance,"),
        ("compare", ("--orders", "reverse,reverse"), "--orders='reverse,reverse' names one twice"),
        ("compare", ("--profile", "p.json"), "--profile is for the order 'measured'; name it in --orders"),
        ("compare", ("--orders", "measured"), "'measured' needs --profile FILE"),
        ("compare", ("--orders", "measured", "--profile", "none.json"), "none.json"),
    ],
)
@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
def test_a_mistake_is_one_line_before_anything_is_asked(
    run: Run, server: ReadingEndpoint, command: str, options: Any, message: str, dry: bool
) -> None:
    """An unknown name or an impossible number is said on stderr, with exit code 1, by a dry run too."""
    code, shown, err = run(command, *options, *(["--dry-run"] if dry else []))
    assert (code, shown, server.asked) == (1, "", [])
    assert err.startswith("edgeorder: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["probe", "--depths", "2"],
        ["probe", "--questions", "0"],
        ["probe", "--questions", "many"],
        ["probe", "--questions", str(10**20)],
        ["compare", "--questions", "-1"],
        ["probe", "--questions", "1e3"],
        ["probe", "--depths", str(10**20)],
        ["probe", "--concurrency", str(10**20)],
        ["probe", "--max-tokens", str(10**20)],
        ["compare", "--max-tokens", "0"],
        ["compare", "--seed", "1.5"],
        ["probe", "--style", "yaml"],
        ["probe", "--concurrency", "0"],
        ["compare", "--depths", "5"],
        ["guess"],
    ],
)
def test_wrong_usage_ends_with_code_2(arguments: list[str]) -> None:
    """Options that do not exist or cannot hold the value are usage errors."""
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 2
    assert "Usage:" in shown.output


def test_ctrl_c_says_how_to_go_on(server: ReadingEndpoint, questions: Path, tmp_path: Path) -> None:
    """SIGINT ends a run with code 130 and one line, without a traceback."""
    server.pause = 0.3
    command = [
        sys.executable,
        "-c",
        "import signal; signal.signal(2, signal.default_int_handler); from edgeorder.cli import main; main()",
        "probe",
        "--model",
        "m",
        "--fixed",
    ]
    command += ["--base-url", server.url, "--cases", str(questions), "--chunks", "8", "--cache", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 300
        while len(server.asked) < 10:
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=300)
    assert (run.returncode, err) == (130, "edgeorder: stopped; with --cache, the same command goes on from here\n")
