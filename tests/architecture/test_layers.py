"""Who may import whom. `make lint` checks the layers with import-linter, before any test runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.architecture.source import imports, module_name, modules

JUDGED = re.compile(r"timeveil\.(engines|models\.\w+\.method)\b")
JUDGING = re.compile(r"timeveil\.(evidence|judging|models\.\w+\.(judges|evidence))\b")


def judges() -> list[Path]:
    return [path for path in modules() if re.search(r"models\.\w+\.(judges|evidence)", module_name(path))]


def methods() -> list[Path]:
    return [path for path in modules() if re.search(r"models\.\w+\.method", module_name(path))]


@pytest.mark.parametrize("path", judges(), ids=module_name)
def test_a_judge_imports_nothing_that_it_judges(path: Path) -> None:
    assert not [name for name in imports(path) if JUDGED.match(name)]


@pytest.mark.parametrize("path", methods(), ids=module_name)
def test_a_method_imports_nothing_that_judges_it(path: Path) -> None:
    assert not [name for name in imports(path) if JUDGING.match(name)]


def test_narwhals_is_only_used_where_tables_are_read() -> None:
    users = {module_name(path) for path in modules() if "narwhals" in roots(path)}
    assert all(name.startswith("timeveil.reading") for name in users)


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}
