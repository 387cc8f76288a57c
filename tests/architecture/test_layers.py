"""Who may import whom. `make lint` checks the same contract with import-linter, before any test runs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.architecture.source import ROOT, SOURCE, imports, module_name, modules

JUDGES = ("verify", "measure", "attack", "query")
JUDGED = ("generalization", "streaming", "series", "patterns", "service", "explore", "engines", "kernels")
HEAVY = ("numba", "scipy", "duckdb", "pandas", "polars")


def layers() -> dict[str, int]:
    """Package to depth, from the contract in pyproject.toml; 0 is the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return {
        name.strip().removeprefix("timeveil."): depth
        for depth, layer in enumerate(contract)
        for name in layer.split("|")
    }


def package(name: str) -> str:
    return name.split(".")[1] if name.startswith("timeveil.") else ""


def reachable(start: str) -> set[str]:
    """Packages that a package imports, directly or through others."""
    seen: set[str] = set()
    pending = [start]
    while pending:
        here = pending.pop()
        inside = (path for path in modules() if package(module_name(path)) == here)
        found = {package(name) for path in inside for name in imports(path)} - {"", here} - seen
        seen |= found
        pending += found
    return seen


@pytest.mark.parametrize("judge", JUDGES)
def test_a_judge_never_reaches_what_it_judges(judge: str) -> None:
    assert reachable(judge).isdisjoint(JUDGED)


def test_every_package_has_its_place_in_the_contract() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")} | {"errors"}
    assert packages == set(layers())


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_imports_go_down(path: Path) -> None:
    depth = layers()
    here = package(module_name(path))
    if here in ("", "__main__"):
        return
    names = {package(name) for name in imports(path)} - {"", here}
    upward = {name for name in names if depth[name] <= depth[here]}
    assert not upward, f"{here} imports {', '.join(sorted(upward))}"


def test_kernels_know_arrays_only() -> None:
    assert reachable("kernels") == set()


def test_narwhals_is_only_at_the_door() -> None:
    users = {package(module_name(path)) for path in modules() if "narwhals" in roots(path)}
    assert users <= {"intake"}


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(path)}
