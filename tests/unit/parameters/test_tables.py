"""A parameter is one line, and everything that shows or takes it follows from that line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conformance import releases

import timeveil as tv
from timeveil.cli.options import help_text
from timeveil.cli.publishing import publishing_command
from timeveil.datasets import clinic_visits, daily_cases
from timeveil.domain.lines import Particulars
from timeveil.domain.parameter import Parameters, Range, literal, optional, parameter
from timeveil.domain.roles import Roles
from timeveil.domain.run import Run
from timeveil.errors import ParameterError
from timeveil.evidence import checks
from timeveil.jobs.request import read_job, run_to_explore
from timeveil.models import part, tables
from timeveil.models.patterns.parameters import PatternParameters
from timeveil.models.series.parameters import SeriesParameters
from timeveil.models.stream.parameters import StreamParameters
from timeveil.report import meanings

SIGNATURES = [(table, getattr(tv, command.replace("-", "_"))) for command, table in tables().items()]
OUTSIDE = {"table", "source", "roles", "progress"}
STREAM: dict[str, Any] = {"l": 3, "window": 7}


@pytest.mark.parametrize(("table", "function"), [*SIGNATURES, (StreamParameters, tv.StreamPublisher)])
def test_a_signature_has_the_names_and_defaults_of_its_table(table: type[Parameters], function: Any) -> None:
    arguments = inspect.signature(function).parameters
    lines = table.table()
    private = {"seed"} - set(lines)
    by_word = {name for name, a in arguments.items() if a.kind is not inspect.Parameter.VAR_KEYWORD}
    assert by_word - OUTSIDE - private - set(table.removed) == set(lines) | (set(lines) & {"seed"})
    for name, declared in lines.items():
        if not declared.required:
            assert arguments[name].default == declared.default, name


@pytest.mark.parametrize("number", [3, np.int64(3), np.uint8(3)])
def test_any_whole_number_is_one(number: Any) -> None:
    assert StreamParameters(l=number, window=7).l == 3
    assert tv.LDiversity(number).l == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"l": True}, "`l` must be a whole number of at least 2, got bool"),
        ({"l": 3.0}, "`l` must be a whole number of at least 2, got float"),
        ({"window": 0}, "`window` must be a whole number from 1 to 10,000, got 0"),
        ({"filler": ["never"]}, "`filler` must be one of never, last_chance, always, got list"),
        ({"fill_empty": "no"}, "`fill_empty` must be true or false, got str"),
        ({"zone": 3}, "`zone` must be text, got int"),
        ({"slot": 3}, "`slot` must be a granularity or the name of one, got int"),
        ({"protect_slot": 3}, "`protect_slot` must be from 2 to l - 1 = 2, got 3"),
        ({"spread": 2}, "`spread` applies with `protect_slot` only"),
        ({"protect_slot": 2, "filler": "always"}, "`protect_slot` and `filler` exclude each other"),
        ({"protect_slot": 2, "spread": 7}, "`spread` must be below `window`, which is 7, got 7"),
    ],
)
def test_what_is_out_of_range_has_one_form(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        StreamParameters(**{**STREAM, **values})
    assert refused.value.message == message
    assert refused.value.code == "bad-parameter"
    assert refused.value.facts


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (Range(1, 10_000), "from 1 to 10,000"),
        (Range(at_least=2), "of at least 2"),
        (Range(0, below=1), "from 0 to below 1"),
    ],
)
def test_a_range_is_written_in_words(numbers: Range, words: str) -> None:
    assert str(numbers) == words


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", '"a"'), (("a", 50.0), '["a", 50]'), ({"zip": True}, '{"zip": True}'), (None, "None")],
)
def test_a_value_is_written_as_source(value: Any, text: str) -> None:
    assert literal(value) == text
    assert literal({"zip": True}, toml=True) == '{"zip" = true}'


def test_a_typo_is_recognised() -> None:
    with pytest.raises(ParameterError, match='did you mean filler="always"') as refused:
        StreamParameters(l=3, window=7, filler="allways")  # type: ignore[arg-type]
    assert "allways" not in str(refused.value)


@pytest.mark.parametrize("support", [0.5, 20, 20.0])
def test_a_support_is_a_share_or_a_number_of_people(support: float) -> None:
    assert PatternParameters(k=10, min_support=support).min_support == support


@pytest.mark.parametrize("support", [0, -1, 20.5, 9, float("nan"), float("inf"), "0.1"])
def test_other_supports_are_refused(support: Any) -> None:
    with pytest.raises(ParameterError, match="min_support"):
        PatternParameters(k=10, min_support=support)


def test_help_quotes_an_example_as_a_shell_needs_it() -> None:
    assert help_text(Particulars.table()["issuer"]).endswith(": --issuer 'City clinic'")
    assert help_text(PatternParameters.table()["k"]).endswith(": --k 10")


def test_a_removed_parameter_is_refused_as_such() -> None:
    with pytest.raises(ParameterError, match="`exact` was removed from `anonymize-series`"):
        SeriesParameters.refuse_unknown(["exact"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'exakt'"):
        SeriesParameters.refuse_unknown(["exakt"])


SOURCES: dict[str, Any] = {
    "time": (lambda: clinic_visits(rows=200, seed=1), releases.VISITS),
    "stream": (lambda: daily_cases(days=10), releases.CASES),
    "series": (releases.loads, releases.LOADS),
    "patterns": (releases.bought, releases.BOUGHT),
}
MADE: dict[str, tuple[str, dict[str, Any]]] = {
    "time": ("generalize", {"k": 2}),
    "stream": ("publisher", {"l": 2, "window": 3, "seed": 1}),
    "series": ("publishing", {"k": 2, "p": 1, "effort": 0}),
    "patterns": ("publishing", {"k": 2, "min_support": 0.2}),
}


@pytest.mark.parametrize("model", MADE)
def test_a_new_line_is_in_manifest_and_report_where_it_is_set(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = part(model, "parameters").PARAMETERS
    module, options = MADE[model]

    class Extended(table):  # type: ignore[misc, valid-type]  # made for each model
        novelty: int = parameter("Number of novelties.", default=0, at_least=0, at_most=9, example=4)

        @classmethod
        def from_call(cls, arguments: Any) -> Any:
            return super().from_call({**arguments, "novelty": chosen})

    # The steps of the recipe: the line, the argument (here by `from_call`) and the shape that judges know.
    monkeypatch.setattr(part(model, "parameters"), "PARAMETERS", Extended)
    monkeypatch.setattr(part(model, f"method.{module}"), table.__name__, Extended)
    shapes = part(model, "judges.manifest").MANIFEST["parameters"]
    monkeypatch.setitem(shapes, "novelty?", checks.COUNT)
    source, roles = SOURCES[model]
    for chosen in (0, 4):
        release, ledger = getattr(tv, table.command.replace("-", "_"))(source(), roles, **options)
        assert tv.verify(release, ledger)
        text = tv.report(release).text()
        assert (release.manifest["parameters"].get("novelty") == 4) is (chosen == 4)
        assert ("Number of novelties." in text) is (chosen == 4)


class WithNovelty(StreamParameters):
    novelty: int = parameter("Number of novelties.", default=0, at_least=0, at_most=9, example=4)


def test_a_new_line_is_seen_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("timeveil.models.stream.parameters.PARAMETERS", WithNovelty)
    from typer import Typer
    from typer.testing import CliRunner

    app = Typer()
    app.command()(publishing_command(tables()["publish-stream"]))
    help_text = " ".join(CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output.split())
    assert "--novelty" in help_text
    assert "Number of novelties" in help_text

    job_file = tmp_path / "job.toml"
    job = 'command = "publish-stream"\nin = "a.csv"\nout = "out"\ntime = "day"\nsensitive = "ill"\nl = 3\n'
    job_file.write_text(f"{job}window = 7\nnovelty = 4\n")
    run = read_job(job_file)
    assert run.values["novelty"] == 4
    job_file.write_text(f"{job}window = 7\nnovelty = 10\n")
    with pytest.raises(ParameterError, match="`novelty` must be a whole number from 0 to 9, got 10"):
        read_job(job_file)

    typed = Run(WithNovelty, "a.csv", Roles(time="day", sensitive=["ill"]), run.values, out="out")
    assert "--novelty 4" in typed.command()
    assert "novelty=4" in typed.python()
    assert "novelty = 4" in typed.job_text()
    assert meanings("stream")["novelty"] == "Number of novelties."


class WithPaths(StreamParameters):
    sketch: str | None = optional("Name of a sketch.", "a.txt", "FILE")
    notes: str | None = optional("File of notes.", "b.txt", "NOTES", path=True)


def test_only_what_is_declared_a_path_is_relative_to_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timeveil.models.stream.parameters.PARAMETERS", WithPaths)
    job_file = tmp_path / "job.toml"
    job_file.write_text(
        'command = "publish-stream"\nin = "a.csv"\nout = "out"\ntime = "day"\nsensitive = "ill"\n'
        'l = 3\nwindow = 7\nsketch = "a.txt"\nnotes = "b.txt"\n'
    )
    values = read_job(job_file).values
    assert values["sketch"] == "a.txt"
    assert values["notes"] == str(tmp_path / "b.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": "2,3", "respondent": "who", "time": "day"}, None),
        ({"l": "2,3", "time": "day", "sensitive": ("ill",)}, "`window` is missing, which `publish-stream`"),
        ({"k": "2,3", "value": "kwh"}, "`p` is missing, which `anonymize-series`"),
        ({"k": "2,3", "item": "what"}, "`min_support` is missing, which `sanitize-patterns`"),
        ({"min_support": "0.1,0.2", "window": "5"}, "`window` does not apply to `sanitize-patterns`"),
    ],
)
def test_what_is_explored_is_the_method_that_knows_the_options(
    options: dict[str, Any], message: str | None
) -> None:
    if message is None:
        assert run_to_explore("a.csv", options).table is tables()["generalize-time"]
        return
    with pytest.raises(ParameterError) as refused:
        run_to_explore("a.csv", options)
    assert message in refused.value.message
