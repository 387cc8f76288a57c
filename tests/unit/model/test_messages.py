"""How hints are spelt for each surface, and that errors carry nothing of what caused them."""

from __future__ import annotations

from typing import Any

import pytest

from timeveil.errors import InputError, raising, spell

WITHHOLD = 'withhold them with {nulls="withhold"}, or use {force=True}'


@pytest.mark.parametrize(
    ("hint", "surface", "spelt"),
    [
        (WITHHOLD, "python", 'withhold them with nulls="withhold", or use force=True'),
        (WITHHOLD, "command", "withhold them with --nulls withhold, or use --force"),
        (WITHHOLD, "form", "withhold them with `nulls` = withhold, or use `force`"),
        ("raise {min_support}, or set {max_len=3}", "job", "raise min_support, or set max_len = 3"),
        ("use {max_len=None} or {fold=False}", "command", "use --max-len off or --no-fold"),
    ],
)
def test_a_hint_is_spelt_as_the_surface_writes_parameters(hint: str, surface: Any, spelt: str) -> None:
    assert spell(hint, surface) == spelt


def test_options_may_have_names_of_their_own() -> None:
    hint = "use {fill_empty=False} or {max_len=None}"
    assert spell(hint, "command", {"fill_empty": "--keep-empty"}) == "use --keep-empty or --max-len off"


def test_an_error_does_not_keep_its_cause() -> None:
    error = InputError("not a number", hint="write numbers", code="bad-number")
    with pytest.raises(InputError) as caught, raising(error, on=ValueError):
        int("canary")
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)
