"""Publish temporal data about people without giving them away.

read -> Relation + Roles -> method -> (Release, Ledger) -> verify · measure · attack · answer ->
write · report

`__init__.pyi` lists the public names and where they are, for type checkers and for this file. A name is
imported when it is first used, so that `import timeveil` and `timeveil --help` are quick.
"""

import _ast
import importlib as _importlib
import sys as _sys
import types as _types

import timeveil.starting  # noqa: F401 - takes care of an interrupt while the rest is loading

with open(__file__.rpartition(".")[0] + ".pyi", encoding="utf-8") as _file:  # noqa: PTH123 - pathlib is slow
    _stub = compile(_file.read(), _file.name, "exec", _ast.PyCF_ONLY_AST)
_imports = (node for node in _stub.body if isinstance(node, _ast.ImportFrom))
_HOMES = {alias.name: node.module for node in _imports for alias in node.names}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - type checkers read the stub


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(_importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    try:
        return _importlib.import_module(f"timeveil.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"timeveil.{name}":
            raise
    raise AttributeError(f"module 'timeveil' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__


class _Package(_types.ModuleType):
    """Three functions are named like the package they are in; importing such a package must not hide them."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, _types.ModuleType) and name in _HOMES):
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package
