"""Import one module with a wrong change in it. As a pytest plugin, it takes the change from `MUTANT`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutants.mutating import mutated

SOURCE = Path(__file__).parents[2] / "src"


def path_of(module: str) -> Path:
    path = SOURCE / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


class Mutating(importlib.abc.MetaPathFinder):
    """Finds one module, with one change."""

    def __init__(self, module: str, number: int) -> None:
        self.module, self.number = module, number

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.module:
            return None
        path = path_of(name)
        return importlib.util.spec_from_file_location(
            name,
            path,
            loader=_Loader(name, str(path), self.number),
            submodule_search_locations=[str(path.parent)] if path.stem == "__init__" else None,
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self.number = number

    def get_code(self, fullname: str) -> CodeType:
        source = Path(self.path).read_text("utf-8")
        return compile(mutated(source, self.number), self.path, "exec")


def install(module: str, number: int) -> None:
    """From now on the module is imported with its change."""
    sys.meta_path.insert(0, Mutating(module, number))


if os.environ.get("MUTANT"):
    _module, _, _number = os.environ["MUTANT"].partition(":")
    install(_module, int(_number))
