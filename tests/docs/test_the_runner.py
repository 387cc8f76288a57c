"""The runner of the examples notices what it is there to notice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.docs import pages, test_examples
from tests.docs.pages import Block
from tests.docs.terminal import shell


def python(text: str) -> Block:
    return Block("python", text, line=1, run=True)


def console(text: str) -> Block:
    return Block("console", text, line=1, run=True)


def test_a_wrong_output_fails() -> None:
    with pytest.raises(pytest.fail.Exception, match="Expected"):
        test_examples.run_doctest(python(">>> 1 + 1\n3\n"), "page.md", {})


def test_names_live_on_from_block_to_block() -> None:
    namespace: dict[str, object] = {}
    test_examples.run_doctest(python(">>> a = 1\n"), "page.md", namespace)
    test_examples.run_doctest(python(">>> a\n1\n"), "page.md", namespace)
    assert namespace["a"] == 1


def test_a_command_that_prints_something_else_fails() -> None:
    test_examples.run_console(console("$ echo one two\none ...\n"), "page.md")
    with pytest.raises(pytest.fail.Exception, match="Got"):
        test_examples.run_console(console("$ echo one two\none three\n"), "page.md")


def test_a_command_that_fails_unseen_fails_the_page() -> None:
    with pytest.raises(pytest.fail.Exception, match="exit 3"):
        test_examples.run_console(console("$ (exit 3)\n"), "page.md")
    with pytest.raises(pytest.fail.Exception, match="exit 3"):
        test_examples.run_console(console("$ echo no; (exit 3)\n...\n$ echo yes\nyes\n"), "page.md")


def test_the_status_of_the_last_command_is_known_to_the_next() -> None:
    known = console("$ echo no; (exit 3)\nno\n$ echo $?\n3\n")
    assert test_examples.run_console(known, "page.md") == 0
    with pytest.raises(pytest.fail.Exception, match="Expected:\n    4\nGot:\n    3"):
        test_examples.run_console(console("$ echo no; (exit 3)\nno\n$ echo $?\n4\n"), "page.md")


def test_a_command_of_ours_does_the_same_here_as_in_a_process() -> None:
    before = (dict(os.environ), sys.stdout, sys.stderr, sys.stdin)
    here = shell("timeveil verify 'no where'", 0)
    assert (dict(os.environ), sys.stdout, sys.stderr, sys.stdin) == before
    assert here[0] == 2
    assert here == shell("timeveil verify 'no where';", 0)


def test_continued_lines_are_one_command() -> None:
    found = test_examples.commands("$ timeveil verify \\\n    out\nfine\n$ ls\n")
    assert found == [("timeveil verify     out", "fine\n"), ("ls", "")]


def test_blocks_know_language_line_and_whether_they_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n```python\na = 1\n```\n\n<!-- not run: needs a database -->\n```console\n$ timeveil\n```\n"
        "1. in a list\n   ```pycon\n   >>> 1\n   1\n   ```\n````md\n```python\n```\n````\n"
    )
    found = [(block.language, block.text, block.line, block.run) for block in pages.blocks(page)]
    assert found == [
        ("python", "a = 1\n", 3, True),
        ("console", "$ timeveil\n", 8, False),
        ("pycon", ">>> 1\n1\n", 12, True),
        ("md", "```python\n```\n", 16, True),
    ]
    assert pages.headings(page) == ["Title"]


def test_links_in_code_are_not_links(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("see [one](a.md) and `[two](b.md)` and [`three`](c.md#d)\n```md\n[four](e.md)\n```\n")
    assert pages.links(page) == [(1, "a.md"), (1, "c.md#d")]
