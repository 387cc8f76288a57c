"""Every example in the documentation runs, and prints what it says it prints.

A page is run top to bottom in one namespace and one empty folder that holds `visits.csv`, the table of
`timeveil.datasets.clinic_visits()`. `python` and `pycon` blocks with prompts are doctests, others are
executed. A `console` block whose first command is `timeveil`, `head`, `cat` or `ls` is run line by line;
where the page shows output it must be what the command printed (`...` stands for anything), and it must
succeed unless the next command is `echo $?`. A block below a line `<!-- not run: reason -->` is left alone.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from tests.docs.pages import Block, blocks, name_of, pages
from tests.docs.terminal import shell

from timeveil.datasets import clinic_visits

LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PYTHON = ("python", "pycon")
CONSOLE = ("$ timeveil ", "$ head ", "$ cat ", "$ ls")


def is_run(block: Block) -> bool:
    if not block.run:
        return False
    return block.language in PYTHON or (block.language == "console" and block.text.startswith(CONSOLE))


def pages_with_examples() -> list[Path]:
    return [page for page in pages() if any(is_run(block) for block in blocks(page))]


@pytest.fixture(scope="session")
def visits(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    pyarrow.csv.write_csv(clinic_visits(), path)
    return path.read_bytes()


@pytest.mark.parametrize("page", pages_with_examples(), ids=name_of)
def test_examples_run(page: Path, visits: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "visits.csv").write_bytes(visits)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__example__"}
    examples = [block for block in blocks(page) if is_run(block)]
    assert examples
    for block in examples:
        if block.language == "console":
            run_console(block, name_of(page))
        elif ">>> " in block.text:
            run_doctest(block, name_of(page), namespace)
        else:
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, name_of(page), "exec"), namespace)  # noqa: S102


def run_doctest(block: Block, page: str, namespace: dict[str, Any]) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, {}, page, page, block.line - 1)
    example.globs = namespace
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=LENIENT, verbose=False)
    runner.run(example, out=said.append, clear_globs=False)
    if said:
        pytest.fail("".join(said), pytrace=False)


def run_console(block: Block, page: str) -> int:
    """The status of the last command; what is not as the page shows it fails."""
    status = 0
    session = commands(block.text)
    for place, (command, shown) in enumerate(session):
        status, printed = shell(command, status)
        where = f"{page}, in the block at line {block.line}: $ {command}"
        if shown:
            want = doctest.Example(command, shown)
            checker = doctest.OutputChecker()
            if not checker.check_output(shown, printed, LENIENT):
                pytest.fail(f"{where}\n{checker.output_difference(want, printed, LENIENT)}", pytrace=False)
        status_is_shown = place + 1 < len(session) and session[place + 1][0] == "echo $?"
        if status and not status_is_shown:
            pytest.fail(f"{where}\nexit {status}\n{printed}", pytrace=False)
    return status


def commands(session: str) -> list[tuple[str, str]]:
    """The commands of a console session, continued lines joined, with the output shown below each."""
    found: list[tuple[str, str]] = []
    continued = False
    for line in session.splitlines(keepends=True):
        if continued:
            found[-1] = (found[-1][0] + line.rstrip("\n"), "")
        elif line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
        continued = (continued or line.startswith("$ ")) and line.endswith("\\\n")
        if continued:
            found[-1] = (found[-1][0].removesuffix("\\"), "")
    return [(command, shown.rstrip("\n") + "\n" if shown.strip() else "") for command, shown in found]
