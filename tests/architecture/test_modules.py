"""Modules are short, and named after what is in them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.architecture.source import module_name, modules, tree

CEILING = 400
SAYS_NOTHING = {"utils", "util", "common", "helpers", "helper", "base", "misc", "core"}


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_no_module_is_longer_than_the_ceiling(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= CEILING


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_names_say_what_is_inside(path: Path) -> None:
    assert SAYS_NOTHING.isdisjoint(part.strip("_") for part in module_name(path).split("."))


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree(path))


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_random_numbers_come_from_a_generator_that_is_passed(path: Path) -> None:
    allowed = {"default_rng", "Generator"}
    used = {
        node.attr
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "random"
        and isinstance(node.value.value, ast.Name)
        and node.value.value.id in ("np", "numpy")
    }
    assert used <= allowed
    assert not any(
        isinstance(node, ast.Import) and any(alias.name == "random" for alias in node.names)
        for node in ast.walk(tree(path))
    )


def test_all_random_calls_name_their_seed() -> None:
    unseeded = [
        f"{module_name(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "default_rng"
        and not (node.args or node.keywords)
    ]
    assert not unseeded
