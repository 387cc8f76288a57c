"""Who may import whom. `make lint` checks the layers with import-linter, before any test runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.architecture.source import imports, module_name, modules, tree

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


def model_comparisons(path: Path) -> list[int]:
    """Lines that compare something with the name of a model."""
    names = {"time", "stream", "series", "patterns"}
    return [
        node.lineno
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn)
        for side in node.comparators
        if names & {leaf.value for leaf in ast.walk(side) if isinstance(leaf, ast.Constant) and leaf.value}
    ]


@pytest.mark.parametrize("package", ["report", "jobs", "explore", "judging"])
def test_what_serves_all_models_asks_for_none_by_name(package: str) -> None:
    paths = [path for path in modules() if module_name(path).split(".")[1:2] == [package]]
    assert paths
    assert {module_name(path): model_comparisons(path) for path in paths if model_comparisons(path)} == {}
