"""What the code offers and what the reference describes are the same."""

from __future__ import annotations

import ast
import importlib
import inspect
import re

import pytest
from tests.architecture.commands import command_names, command_tree, options
from tests.architecture.source import modules, string_constants
from tests.docs.pages import ROOT, blocks, pages, sections

import timeveil
from timeveil.errors import ERROR_CODES, TimeveilError

REFERENCE = ROOT / "docs" / "reference"
STUB = ast.parse((ROOT / "src" / "timeveil" / "__init__.pyi").read_text("utf-8"))
PUBLIC = sorted(getattr(timeveil, "__all__", []))
SLUG = re.compile(r"[a-z]+(-[a-z]+)*")


def python_sections() -> dict[str, str]:
    """Text by documented name; a heading may hold several names."""
    found = {}
    for title, text in sections(REFERENCE / "python.md", level=3).items():
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", title), text))
    return found


def examples() -> str:
    return "\n".join(
        block.text for page in pages() for block in blocks(page) if block.language in ("python", "pycon")
    )


def test_the_public_names_are_the_documented_ones() -> None:
    assert set(PUBLIC) == set(python_sections())


def test_the_public_names_are_sorted_once_each_and_exist() -> None:
    names = timeveil.__all__
    assert names == sorted(set(names))
    assert [name for name in names if not hasattr(timeveil, name)] == []


def test_nothing_else_is_public() -> None:
    extra = {
        name
        for name, value in vars(timeveil).items()
        if not name.startswith("_") and name not in PUBLIC and not inspect.ismodule(value)
    }
    assert extra - {"annotations"} == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring(name: str) -> None:
    value = getattr(timeveil, name)
    documented = value if inspect.isclass(value) or callable(value) else type(value)
    assert inspect.getdoc(documented)


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isclass(getattr(timeveil, name))])
def test_methods_of_a_public_name_have_docstrings(name: str) -> None:
    members = vars(getattr(timeveil, name)).items()
    methods = {member for member, value in members if callable(value) or isinstance(value, property)}
    assert {
        m for m in methods if m[0] != "_" and not inspect.getdoc(getattr(getattr(timeveil, name), m))
    } == set()


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name: str) -> None:
    value = getattr(timeveil, name)
    if inspect.isclass(value) and issubclass(value, TimeveilError):
        return
    in_docstring = callable(value) and ">>> " in (inspect.getdoc(value) or "")
    assert in_docstring or re.search(rf"\b{name}\b", examples())


@pytest.mark.parametrize("name", [name for name in PUBLIC if inspect.isfunction(getattr(timeveil, name))])
def test_every_parameter_of_a_public_function_is_described(name: str) -> None:
    described = set(re.findall(r"`(\w+)`", python_sections()[name]))
    parameters = inspect.signature(getattr(timeveil, name)).parameters.values()
    # names that were removed are taken only to say so
    assert {p.name for p in parameters if p.kind is not p.VAR_KEYWORD} - described == set()


def test_every_error_code_has_a_section() -> None:
    titles = (title.strip("`") for title in sections(REFERENCE / "errors.md", level=2))
    assert {title for title in titles if SLUG.fullmatch(title)} == set(ERROR_CODES)


def test_every_error_code_is_used() -> None:
    usual = {error.usual_code for error in TimeveilError.__subclasses__()}
    used = usual.union(*(string_constants(path) for path in modules() if path.name != "errors.py"))
    assert set(ERROR_CODES) - used == set()


def test_every_exception_is_drawn_in_the_tree() -> None:
    import timeveil.errors as module

    defined = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    }
    assert defined == set(re.findall(r"\b\w+Error\b", module.__doc__ or ""))


def cli_sections() -> dict[str, str]:
    found = {}
    for level in (2, 3):
        for title, text in sections(REFERENCE / "cli.md", level=level).items():
            found[title.strip("`").removeprefix("timeveil ")] = text
    return found


def test_every_command_is_documented_and_every_documented_command_exists() -> None:
    titles = {title for title in cli_sections() if SLUG.fullmatch(title)}
    assert titles == set(command_names())


def test_every_option_is_documented() -> None:
    described = (REFERENCE / "cli.md").read_text("utf-8")
    missing = {
        f"{name} {option}"
        for name, command in command_tree().items()
        for option in options(command)
        if not re.search(rf"{re.escape(option)}\b", cli_sections()[name])
        and not re.search(rf"{re.escape(option)}\b", described.split("\n## ", 1)[0])
    }
    assert missing == set()


def test_a_type_checker_sees_the_public_names() -> None:
    """The stub's `__all__` names what it imports, which is what the package has."""
    lines = [ast.unparse(node.value) for node in STUB.body if isinstance(node, ast.Assign | ast.AugAssign)]
    assert [name for line in lines for name in ast.literal_eval(line)] == timeveil.__all__
    imports = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]
    for name, home in ((alias.name, node.module) for node in imports for alias in node.names):
        assert getattr(timeveil, name) is getattr(importlib.import_module(str(home)), name)
