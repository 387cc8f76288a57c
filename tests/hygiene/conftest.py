"""One house for each module of tests, furnished once."""

from __future__ import annotations

import pytest
from tests.hygiene.running import Command, House, enter, watched


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> House:
    house = House(tmp_path_factory.mktemp("house"))
    with pytest.MonkeyPatch.context() as patch:
        enter(house, patch)
        house.make()
    return house


@pytest.fixture
def house(furnished: House, monkeypatch: pytest.MonkeyPatch) -> House:
    enter(furnished, monkeypatch)
    return furnished


@pytest.fixture
def command(house: House, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Command:
    return watched(capfd, caplog)
