"""The source package and the wheel are complete, and the wheel works where nothing of the source is.

The wheel is built from the source package, as an installer without a matching wheel would do. It is installed
into an environment of its own, which sees the other packages of this one, but not this one's timeveil.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from tests.docs.pages import LINK

from timeveil.domain.version import __version__

ROOT = Path(__file__).parents[2]
ELSEWHERE = ("http://", "https://", "#")
COMPLETE = """
source <(timeveil --show-completion bash)
complete_last() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _timeveil_completion timeveil && printf '%s\\n' "${COMPREPLY[@]}"
}
complete_last timeveil gener
complete_last timeveil generalize-time --resp
complete_last timeveil generalize-time --engine d
"""


@dataclass
class Built:
    source: Path
    """The unpacked source package."""
    wheel: Path

    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as wheel:
            text = wheel.read(f"timeveil-{__version__}.dist-info/METADATA").decode()
        return Parser().parsestr(text)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    variables = {**os.environ, **environment}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "hatchling", "build", "--directory", folder)
    run(*build, "--target", "sdist", cwd=ROOT)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as package:
        package.extractall(folder, filter="data")
    source = folder / f"timeveil-{__version__}"
    run(*build, "--target", "wheel", cwd=source)
    return Built(source, next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def installed(built: Built) -> Path:
    """The folder of programs of a new environment with the wheel."""
    environment = built.source.parent / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=environment.parent)
    programs = environment / "bin"
    pip = (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet")
    run(*pip, "--no-index", "--no-deps", built.wheel, cwd=environment.parent)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(programs / "python", "-c", code, cwd=environment).strip())
    # Only a path: `.pth` files in it, such as that of timeveil in this environment, are not followed.
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    code = "import timeveil; print(timeveil.__file__)"
    assert str(packages) in run(programs / "python", "-c", code, cwd=environment)
    return programs


def test_the_source_package_has_everything(built: Built) -> None:
    for name in ("LICENSE", "Makefile", "CITATION.cff", "docs/index.md", "tests/conftest.py", ".ci/run"):
        assert (built.source / name).is_file(), name
    for _, target in re.findall(
        r"(\[[^\]]*\])\(([^)\s]+)\)", (built.source / "README.md").read_text("utf-8")
    ):
        assert target.startswith(ELSEWHERE) or (built.source / target.partition("#")[0]).is_file(), target


def test_the_wheel_has_the_package_and_nothing_else(built: Built) -> None:
    package = ROOT / "src"
    files = {path for path in (package / "timeveil").rglob("*") if path.is_file()}
    files = {path.relative_to(package).as_posix() for path in files if path.suffix != ".pyc"}
    assert {Path(name).suffix for name in files} > {".css", ".j2", ".typed", ".pyi"}
    with zipfile.ZipFile(built.wheel) as wheel:
        names = set(wheel.namelist())
    assert {name for name in names if ".dist-info/" not in name} == files
    assert f"timeveil-{__version__}.dist-info/licenses/LICENSE" in names


def test_what_the_package_says_of_itself(built: Built) -> None:
    metadata = built.metadata()
    assert metadata["Author"] == "timeveil contributors"
    assert "k-anonymity" in metadata["Keywords"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Project-URL"] is None
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_no_link_of_the_description_is_dead_elsewhere(built: Built) -> None:
    """A package index shows it without the files next to it."""
    description = str(built.metadata().get_payload())
    readme = (ROOT / "README.md").read_text("utf-8")
    assert any(not match["target"].startswith(ELSEWHERE) for match in LINK.finditer(readme))
    assert not [m[0] for m in LINK.finditer(description) if not m["target"].startswith(ELSEWHERE)]
    assert "![" not in description
    for heading in re.findall(r"^## .+$", readme, re.MULTILINE):
        assert heading in description


def test_the_wheel_publishes_and_reports(installed: Path, tmp_path: Path) -> None:
    assert "Attacked by someone" in run(installed / "timeveil", "demo", "--out", "demo", cwd=tmp_path)
    report = ("report", "demo/release", "--ledger", "demo/visits.ledger", "--out", "report.html", "--quiet")
    run(installed / "python", "-m", "timeveil", *report, cwd=tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<style>" in page
    assert "</svg>" in page


def test_bash_completes(installed: Path, tmp_path: Path) -> None:
    path = f"{installed}{os.pathsep}{os.environ['PATH']}"
    said = run(
        "bash", "-c", COMPLETE, cwd=tmp_path, PATH=path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1"
    )
    assert said.split() == ["generalize-time", "--respondent", "duckdb"]
