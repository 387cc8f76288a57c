"""A folder with the tables of all four models, and a browser that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.browsing import Browser, furnish


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    furnish(root)
    return root


@pytest.fixture(scope="module")
def browser(root: Path) -> Iterator[Browser]:
    browser = Browser(root)
    yield browser
    browser.close()
