"""The report: text, page and data say the same, the public one nothing private, and nothing in it runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.report.reports import DROPPED, HOSTILE, MODELS, PERSON, Page, pair, told, words_of

import timeveil as tv
from timeveil.page.charts import column_chart
from timeveil.page.report import Prose, Report, Table, markdown
from timeveil.page.svg import COLOURS, Picture, stylesheet
from timeveil.report import meanings

HEADINGS = (
    "What was released",
    "The promise",
    "What was done",
    "Risk",
    "What it costs",
    "Attacks",
    "Verification",
    "What is not protected",
    "How to do it again",
)
BOTH = [(model, private) for model in MODELS for private in (False, True)]
every_report = pytest.mark.parametrize(("model", "private"), BOTH)
every_model = pytest.mark.parametrize("model", MODELS)


def blocks(report: Report) -> list[object]:
    return [block for section in report.sections for block in section.blocks]


@every_report
def test_a_report_has_all_its_parts(model: str, private: bool) -> None:
    report = told(model, private=private)
    assert report.holds
    assert (report.kind, report.model) == ("private" if private else "public", model)
    assert tuple(section.heading for section in report.sections) == HEADINGS
    assert all(section.blocks for section in report.sections)
    assert sum(isinstance(block, Picture) for block in blocks(report)) >= (3 if private else 2)


@every_report
def test_the_page_is_well_formed_and_needs_nothing(model: str, private: bool) -> None:
    text = told(model, private=private).html
    page = Page(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not re.search(r"https?:|//|@import|url\(|javascript:", text)
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert all(str(found["href"]).startswith("#") for found in page.named("a"))
    assert len(text.encode()) < 200_000


@every_report
def test_the_page_can_be_read_by_all(model: str, private: bool) -> None:
    page = Page(told(model, private=private).html)
    order = [tag for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert order == ["h1", *["h2"] * len(HEADINGS)]
    assert page.named("html")[0]["lang"] == "en"
    ids = [found["id"] for _, found in page.tags if "id" in found]
    assert len(ids) == len(set(ids))
    for svg in page.named("svg"):
        assert svg["role"] == "img"
        assert set(str(svg["aria-labelledby"]).split()) <= set(ids)
    assert all(found.get("scope") in ("col", "row") for found in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table")) > 0


@every_report
def test_text_page_and_data_say_the_same(model: str, private: bool) -> None:
    report = told(model, private=private)
    data = json.loads(report.json)
    assert data == report.as_dict()
    page, text = Page(report.html).text, " ".join(str(report).split())
    for word in words_of({name: data[name] for name in ("title", "notice", "summary", "sections")}):
        bare = " ".join(word.split())
        assert bare in text or all(part in text for part in bare.split()), word
        assert " ".join(re.sub(r"`([^`]+)`", r" \1 ", bare).split()) in page or "`" in bare, word


@every_report
def test_sentences_do_not_run_into_each_other(model: str, private: bool) -> None:
    prose = " ".join(str(told(model, private=private)).split())
    assert re.findall(r"[a-z]{2}[.;:][A-Z][a-z]+", prose) == []


@every_model
def test_the_public_report_tells_nothing_of_the_ledger(model: str) -> None:
    report = told(model, private=False)
    for said in (report.html, report.json, str(report), repr(report)):
        assert PERSON not in said
        assert DROPPED not in said
        assert "918273" not in said


@every_model
def test_the_private_report_names_columns_and_no_person(model: str) -> None:
    report = told(model, private=True)
    for said in (report.html, report.json, str(report)):
        assert f"{PERSON}-" not in said
        assert f"{DROPPED}-" not in said
        assert "918273" not in said
        assert "PRIVATE" in said
    assert f"who_{PERSON}" in report.html
    assert "<title>PRIVATE: " in report.html
    assert "PRIVATE" not in told(model, private=False).html
    assert PERSON not in repr(report)


@every_model
def test_the_public_report_needs_the_folder_only(model: str, tmp_path: Path) -> None:
    """It says the same of the release and of its folder, but for the files."""
    release, ledger = pair(model)
    folder = tv.write(release, tmp_path / "published")
    report, again = tv.report(folder), tv.report(str(folder))
    assert report.html == again.html
    assert report.json == again.json
    names = [
        section.heading for section in report.sections if section not in told(model, private=False).sections
    ]
    assert set(names) <= {"Verification", "What was released"}
    hashes = json.loads((folder / "release.json").read_text())["tables"]
    assert all(entry["sha256"] in report.html for entry in hashes.values())
    assert str(tmp_path) not in report.html
    assert tv.report(folder, tv.write(ledger, tmp_path / "ledger")).kind == "private"


def test_the_same_release_gives_the_same_bytes() -> None:
    release, ledger = pair("stream")
    assert tv.report(release, ledger).html == told("stream", private=True).html


def test_hostile_names_are_shown_and_do_nothing() -> None:
    page = told("time", private=True).html
    assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in page
    assert "<script" not in page
    assert "\u202e" not in page
    assert HOSTILE not in told("time", private=True).json
    assert "\u202e" not in str(told("time", private=True))


def test_hostile_items_are_shown_and_do_nothing() -> None:
    rows = pa.table({"has": [[HOSTILE, "]]></svg>"], [HOSTILE], [HOSTILE, "]]></svg>"]] * 5})
    release, ledger = tv.sanitize_patterns(rows, tv.Roles(item="has"), k=3, min_support=4)
    for report in (tv.report(release), tv.report(release, ledger)):
        Page(report.html)
        assert "<script" not in report.html
        assert "\u202e" not in report.html


@every_model
def test_attacks_are_held_against_the_bound(model: str) -> None:
    [section] = [one for one in told(model, private=True).sections if one.heading == "Attacks"]
    table = section.blocks[0]
    assert isinstance(table, Table)
    assert table.rows[0][-1] == "within the bound"
    assert "do not publish" not in str(told(model, private=True))


@every_model
def test_every_parameter_has_a_meaning(model: str) -> None:
    stated = pair(model)[0].manifest["parameters"]
    assert all(meanings(model).get(name) for name in stated)


def test_the_command_to_make_it_again_has_no_path_and_no_seed() -> None:
    [section] = [one for one in told("stream", private=True).sections if one.heading == HEADINGS[-1]]
    commands = [
        line
        for block in section.blocks
        if isinstance(block, Prose) and block.kind == "fence"
        for line in block.sentences
    ]
    assert commands[-1].startswith("timeveil publish-stream IN --out DIR ")
    assert "--l 2 --window 5" in commands[-1]
    assert "seed" not in commands[-1]


def test_a_violated_release_says_so_and_no_more() -> None:
    release, ledger = pair("time")
    fewer = tv.Release(release.guarantee, release.manifest, {"data": release.table.slice(3)})
    for private in (None, ledger):
        report = tv.report(fewer, private)
        assert not report.holds
        assert "VIOLATED" in str(report)
        page = Page(report.html)
        assert any(found.get("class") == "summary violated" for found in page.named("div"))
        assert [one.heading for one in report.sections] == [
            "What is wrong",
            "What it states about itself",
            "What to do",
        ]
        assert f"{PERSON}-" not in report.html


def test_a_ledger_of_another_release_is_said_first(tmp_path: Path) -> None:
    release, ledger = pair("time")
    roles = tv.Roles(respondent=f"who_{PERSON}", time="day", quasi=[HOSTILE], sensitive=["result"])
    rows = ledger.original.table.select(roles.columns).slice(100)
    other = tv.generalize_time(rows, roles, k=5, suppress=0.05)[1]
    said = "The ledger does not belong to this release, or the release was not made from it."
    for given in (release, tv.write(release, tmp_path / "published")):
        report = tv.report(given, other)
        assert report.summary[0] == said
        assert "VIOLATED" in report.summary[1]
        assert said[4:-1] in str(report.sections[0].blocks[0])
        assert tv.report(given, ledger).holds


def test_a_damaged_folder_is_reported(tmp_path: Path) -> None:
    folder = tv.write(pair("series")[0], tmp_path / "published")
    (folder / "data.parquet").write_bytes(b"no parquet")
    report = tv.report(folder)
    assert not report.holds
    assert "has changed since it was written" in report.html


def test_a_report_is_about_a_release() -> None:
    with pytest.raises(tv.ParameterError, match="not about a Ledger"):
        tv.report(pair("time")[1])  # type: ignore[arg-type]


def test_packets_are_told() -> None:
    draw, weights = np.random.default_rng(1), 1 / np.arange(1, 31)
    ill = draw.choice([f"code {n}" for n in range(30)], 800, p=weights / weights.sum())
    slots = pa.table({"slot": np.repeat(np.arange(20), 40), "age": draw.integers(0, 90, 800), "ill": ill})
    roles = tv.Roles(time="slot", quasi=["age"], sensitive=["ill"])
    pair = tv.publish_stream(slots, roles, l=3, window=5, seed=1, protect_slot=2)
    report = tv.report(*pair)
    assert report.holds
    assert "at most 1 in 2" in str(report)
    assert "--protect-slot 2" in str(report)
    assert "no value with a chance above 1 in 2" in " ".join(str(tv.report(pair[0])).split())


def test_releases_without_rows_have_a_report() -> None:
    rows = pa.table(
        {"id": pa.array([], pa.string()), "day": pa.array([], pa.date32()), "zip": pa.array([], pa.string())}
    )
    roles = tv.Roles(respondent="id", time="day", quasi=["zip"])
    release, ledger = tv.generalize_time(rows, roles, k=5)
    for report in (tv.report(release), tv.report(release, ledger)):
        assert report.holds
        Page(report.html)


def test_a_picture_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(told("series", private=False).html)
    monkeypatch.setattr(sys.modules["timeveil.report"], "LARGEST_PICTURE", 1_000)
    page = tv.report(pair("series")[0]).html
    assert "too much to draw on this page" in page
    assert len(page) < whole


def test_many_columns_stay_below_a_megabyte() -> None:
    names = [f"{'long-name-' * 300}{place}" for place in range(300)]
    rows = {name: ["a"] * 6 for name in names}
    table = pa.table({"id": list("abcdef"), "day": ["2024-01-01"] * 6, **rows})
    roles = tv.Roles(
        respondent="id", time="day", quasi=names[:100], keep=names[100:200], sensitive=names[200:]
    )
    release, ledger = tv.generalize_time(table, roles, k=2, granularities=["year"])
    for report in (tv.report(release), tv.report(release, ledger)):
        assert len(report.html.encode()) < 1_000_000


def contrast(one: str, other: str) -> float:
    """By the formula of WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colours_can_be_told_apart(theme: int) -> None:
    """Which colour is written on which background."""
    written = {
        "paper": ("ink", "soft", "link", "bad"),
        "panel": ("ink", "soft", "link"),
        "good-paper": ("good", "ink"),
        "bad-paper": ("bad", "ink"),
        "bad": ("paper",),
    }
    for paper, names in written.items():
        assert min(contrast(COLOURS[name][theme], COLOURS[paper][theme]) for name in names) >= 4.5


def test_words_in_pictures_can_be_told_from_their_paper() -> None:
    for rules in stylesheet().split("@media"):
        found = dict(re.findall(r"\.tv (?:\.)?(text|paper|soft|private)\{fill:(#\w+)", rules))
        assert min(contrast(found[name], found["paper"]) for name in ("text", "soft", "private")) >= 4.5


def test_columns_stand_at_their_places() -> None:
    svg = column_chart("t", "b", np.array([0, 1, 9]), np.array([2, 0, 4]), ("a", "z"), "slot").svg()
    heights = [float(found) for found in re.findall(r'class="f0".*?height="([\d.]+)"', svg)]
    assert len(heights) == 10
    assert heights[9] == 2 * heights[0] > 0 == heights[5]


def test_whatever_is_filled_in_is_shown_as_it_is() -> None:
    hostile = "*b* _i_ [a](http:x) <i>&amp; ![p](0) | # \\ ~ a\u202eb\x1b"
    table = Table("c *x*", ("one", "two|"), ((hostile, "1"), (f"`{hostile}`", "2")))
    source = f"# h\n\n{markdown(hostile)}\n\n![t](0)\n"
    report = Report("t", "public", "time", holds=True, summary=("a",), markdown=source, figures=(table,))
    for said in (report.html, str(report), report.json):
        assert not {"\u202e", "\x1b", "\x07"} & set(said)
    page = Page(report.html)
    assert not {tag for tag, _ in page.tags} & {"i", "em", "strong", "svg", "img"}
    assert [found["href"] for found in page.named("a")] == ["#s1"]
    shown = hostile.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert page.text.count(shown) == 3
    assert str(report).count(shown) == 3


def test_long_text_is_cut() -> None:
    assert len(markdown("x" * 9_000)) == 2_000


def test_a_backquote_without_its_pair_is_a_backquote() -> None:
    report = Report("t", "public", "time", holds=True, summary=("a `b",), markdown="# h\n\nc\n")
    assert "a `b" in Page(report.html).text
