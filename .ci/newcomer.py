"""Run README's programs as a newcomer does, and fail unless each prints the block that it placed.

For each framework a clean environment gets the built package with exactly the extra of that framework: LangChain's the
wheel, LlamaIndex's the source distribution. README's first complete program of the framework is pasted into an empty
folder and run there with an empty home and no network: no file may be needed that nothing named.

    python .ci/newcomer.py README.md dist
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INHERITED = ("PATH", "SYSTEMROOT", "TEMP", "TMP")  # and nothing that says where a file or a server is
NO_NETWORK = """
import socket
def refuse(*asked, **more):
    raise OSError(f"this program has no network, and it asked for one: {asked}")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""
SHARE = 20  # characters of a text of the program that make it a passage
LIMIT = 300  # seconds


def program(readme: str, adapter: str) -> str:
    """Return the first Python block that imports an adapter and ends by printing.

    Raises:
        SystemExit: If there is none.
    """
    for code in BLOCK.findall(readme):
        tree = ast.parse(code)
        imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        last = tree.body[-1] if tree.body else None
        if adapter in imported and last is not None and ast.unparse(last).startswith("print("):
            return code
    sys.exit(f"README has no complete Python program that imports {adapter} and ends with print(...)")


def passages(code: str) -> list[str]:
    """Return the texts of a program that are long enough to be passages."""
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return [text for text in constants if isinstance(text, str) and len(text) >= SHARE]


def environment(folder: Path, built: Path, extra: str) -> Path:
    """Make an environment with a built package and one extra; return its interpreter, which has no network."""
    venv.create(folder, with_pip=True)
    interpreter = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", f"{built}[{extra}]"], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run([interpreter, "-c", where], check=True, capture_output=True, text=True).stdout.strip()
    (Path(packages) / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    return interpreter


def alone() -> list[str]:
    """Return what takes the network from a program whatever it is written in, where the system lets us do that."""
    command = ["unshare", "--map-root-user", "--net"]
    possible = shutil.which(command[0]) and not subprocess.run([*command, "true"], capture_output=True).returncode
    return command if possible else []


def pasted(code: str, interpreter: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program from an empty folder, with an empty home."""
    home = folder / "home"
    work = folder / "work"
    home.mkdir()
    work.mkdir()
    (work / "program.py").write_text(code, encoding="utf-8")
    clean = {name: os.environ[name] for name in INHERITED if name in os.environ}
    clean |= {"HOME": str(home), "USERPROFILE": str(home), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [*alone(), interpreter, "program.py"],
        cwd=work,
        env=clean,
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT,
        check=False,
    )


def main(readme: str, dist: str) -> None:
    """Run both programs."""
    text = Path(readme).read_text(encoding="utf-8")
    for adapter, extra, pattern in (
        ("langchain_edgeorder", "langchain", "*.whl"),
        ("llamaindex_edgeorder", "llamaindex", "*.tar.gz"),
    ):
        code = program(text, adapter)
        (built,) = Path(dist).resolve().glob(pattern)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            done = pasted(code, environment(folder / "venv", built, extra), folder)
        if done.returncode or done.stderr:
            sys.exit(f"{extra}: README's program ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        placed = [passage for passage in passages(code) if passage in done.stdout]
        if len(placed) < 2:
            sys.exit(f"{extra}: README's program printed no block of its passages, but\n{done.stdout}")
        print(f"{extra}: {built.name} placed {len(placed)} passages of README's program")


if __name__ == "__main__":
    main(*sys.argv[1:])
