"""Judges take the options that belong to the model at hand, and speak of options as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.conformance.releases import made

import timeveil as tv

MODELS = ("time", "stream", "series", "patterns")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of every model, each with its ledger beside it."""
    place: Path = tmp_path_factory.mktemp("releases")
    for model in MODELS:
        release, ledger = made(model)
        tv.write(release, place / model)
        tv.write(ledger, place / f"{model}.ledger")
    return place


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "--difference h00,zz=:-1",
            "have no `h00` less `zz`\n\nhint: ask for pairs of two different instants, such as h00 and h05\n",
        ),
        ("--features adjacent --difference h00,h02=:-1", "that follow each other, such as h00 and h01\n"),
        ("--difference h00,h01=2:1", "the range for `h00` less `h01` ends before it starts"),
        (
            "--like 1,2,3,4,5,6 --tolerance 1 --features slope",
            "hint: take --features differences or adjacent\n",
        ),
    ],
)
def test_questions_about_series_are_told_as_typed(cli: Cli, folder: Path, asked: str, said: str) -> None:
    answer = cli(f"query {folder / 'series'} {asked}")
    assert answer.code == 2
    assert said in answer.err


@pytest.mark.parametrize("features", ["adjacent", "differences", "nose"])
def test_features_need_a_shape(cli: Cli, folder: Path, features: str) -> None:
    said = cli(f"query {folder / 'series'} --range h00=0.1:0.3 --features {features}")
    assert (said.code, said.out) == (2, "")
    assert "--features is given without --difference or --like" in said.err


@pytest.mark.parametrize("option", ["--features differences", "--longer-than 0", "--like ''"])
def test_a_question_of_another_model_is_refused_whatever_it_says(cli: Cli, folder: Path, option: str) -> None:
    said = cli(f"query {folder / 'time'} {option}")
    assert (said.code, said.out) == (2, "")
    assert f"{option.split(maxsplit=1)[0]} asks about " in said.err
