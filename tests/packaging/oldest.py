"""Print the oldest versions that `pyproject.toml` admits as constraints for pip: `numpy>=2` as `numpy==2`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
BOUND = re.compile(r"([\w.-]+)>=([\d.]+)")


def oldest() -> list[str]:
    """One pin for each package that timeveil or its tests need; a requirement without a bound is an error."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    needed = (*project["dependencies"], *project["optional-dependencies"]["test"])
    bounds = {requirement: BOUND.fullmatch(requirement) for requirement in needed}
    assert all(bounds.values()), [requirement for requirement, bound in bounds.items() if not bound]
    return [f"{bound[1]}=={bound[2]}" for bound in bounds.values() if bound]


if __name__ == "__main__":
    sys.stdout.write("\n".join(oldest()) + "\n")
