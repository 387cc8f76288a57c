"""Judges take the options that belong to the model at hand, and speak of options as they are typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.conformance.releases import made

import timeveil as tv
from timeveil.models import parameters_of

MODELS = ("time", "stream", "series", "patterns")
OPTIONS = {
    "--visits 1": ("time",),
    "--tolerance 0": ("time", "series"),
    "--knows published-slot": ("stream",),
    "--beside-plain": ("stream",),
    "--values all": ("series",),
    "--pattern": ("series",),
    "--explain": ("patterns",),
}
"""Options of `attack`, most of them with their defaults, and the models that they are about."""


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
            "have no `h00` less `zz`\n\nhint: ask for pairs of two different instants, such as `h00`",
        ),
        ("--features adjacent --difference h00,h02=:-1", "that follow each other, such as `h00` and `h01`\n"),
        ("--difference h00,h01=2:1", "the range for `h00` less `h01` ends before it starts"),
        (
            "--like 1,2,3,4,5,6 --tolerance 1 --features slope",
            "hint: use --features differences or --features adjacent\n",
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
    assert "`features` is set without `difference` or `like`" in said.err


@pytest.mark.parametrize("option", ["--features differences", "--longer-than 0", "--like ''"])
def test_a_question_of_another_model_is_refused_whatever_it_says(cli: Cli, folder: Path, option: str) -> None:
    said = cli(f"query {folder / 'time'} {option}")
    assert (said.code, said.out) == (2, "")
    assert f"`{option.split(maxsplit=1)[0]}` applies to releases of " in said.err


@pytest.mark.parametrize("option", OPTIONS)
def test_attack_refuses_an_option_of_another_model(cli: Cli, folder: Path, option: str) -> None:
    name = option.split(maxsplit=1)[0]
    for model in MODELS:
        if model not in OPTIONS[option]:
            said = cli(f"attack {folder / model} --ledger {folder / model}.ledger {option}")
            assert (said.code, said.out) == (2, "")
            assert f"`{name}` applies to releases of " in said.err
            assert said.err.endswith(f"\n\nhint: leave {name} out\n")


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("time", "--visits 1 --tolerance 0"),
        ("stream", "--knows published-slot"),
        ("series", "--values all --tolerance 0"),
    ],
)
def test_attack_with_defaults_is_the_attack_without(cli: Cli, folder: Path, model: str, options: str) -> None:
    line = f"attack {folder / model} --ledger {folder / model}.ledger --json"
    plain, same = cli(line), cli(f"{line} {options}")
    assert (plain.code, same.code) == (0, 0)
    assert plain.out == same.out


def test_no_value_is_known_to_within_something(cli: Cli, folder: Path) -> None:
    line = f"attack {folder / 'series'} --ledger {folder / 'series.ledger'} --values none --pattern"
    assert cli(line).code == 0
    said = cli(f"{line} --tolerance 3")
    assert (said.code, said.out) == (2, "")
    assert "with `--values none` there are none" in said.err


@pytest.mark.parametrize("model", ["time", "stream", "series"])
def test_measure_refuses_a_table_to_read_counts_off(cli: Cli, folder: Path, model: str) -> None:
    line = f"measure {folder / model} --ledger {folder / model}.ledger --against {folder / 'series'}"
    said = cli(line)
    assert (said.code, said.out) == (2, "")
    contents = parameters_of(model).contents
    assert said.err == (
        f"error: `against` does not apply to a release of {contents}\n\nhint: leave --against out\n"
    )


@pytest.mark.parametrize("command", ["anonymize-series loads.csv --out out", "explore loads.csv"])
def test_a_removed_option_is_named_as_it_was_typed(cli: Cli, command: str) -> None:
    said = cli(f"{command} --series h00..h23 --k 3 --p 2 --no-adoption")
    assert said.code == 2
    assert "error: `--no-adoption` was removed from `anonymize-series`" in said.err
    assert "leave --no-adoption out" in said.err
