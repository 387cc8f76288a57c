"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest
from tests.architecture.source import SOURCE, module_name, modules

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUNNABLE = [path for path in modules() if path.name != "__main__.py"]


@pytest.mark.parametrize("path", RUNNABLE, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_docstring_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(module_name(path))
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for example in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        runner.run(example, out=said.append)
    assert not said, "".join(said)
