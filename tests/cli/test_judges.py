"""The commands that judge a release, and the one that judges a table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree as ET

import pytest
from tests.cli.conftest import ROLES, Cli, names
from tests.conformance.releases import made
from tests.fuzz.targets import RELEASES

import timeveil as tv
from timeveil.cli.output import Output
from timeveil.folder import open_release
from timeveil.models.events.words import loss_summary


def spoil(name: str, at: int = 60) -> None:
    """Change one byte in the middle of a file."""
    path = Path("out") / name
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(bytes(content))


def test_verify_as_a_recipient(cli: Cli, published: str) -> None:
    said = cli("verify out")
    assert (said.code, said.err) == (0, "")
    assert said.out == dedent(
        """\
        holds: `out`, as far as a recipient can see (people were not counted)
        1. every file exists, there is no other, tables have their stated hash, and release.json its one
           spelling; bytes that no cell shows and the words of README.txt are not judged, and `timeveil
           verify --rewrite` leaves them out
        2. the manifest has every section, and nothing else
        3. the table has exactly the columns, roles and types of the manifest
        4. the numbers in release.json agree with each other
        5. the chosen granularity is one of those that work, with the numbers of the release
        6. row and group counts are those of the manifest
        7. every combination of quasi-identifiers and time is in at least 2 rows (a recipient cannot count
           people)
        8. the stated smallest group has no more people than a group has rows
        9. every label, start and end is a granule of the stated granularity
        10. rows are sorted by their values, so that their order reveals nothing
        """
    )


def test_verify_with_the_ledger_counts_people(cli: Cli, published: str) -> None:
    said = cli(f"verify {published}")
    assert said.code == 0
    assert said.out.startswith("holds: `out`, by counting the people of every group, with the ledger\n")
    assert (
        "every combination of quasi-identifiers and time is shared by at least 2 different people\n"
        in said.out
    )
    assert "class" not in said.out


def test_verify_as_data(cli: Cli, published: str) -> None:
    told = json.loads(cli(f"verify {published} --json").out)
    assert (told["holds"], told["scope"], told["violations"]) == (True, "with ledger", [])


def test_verify_quietly(cli: Cli, published: str) -> None:
    said = cli("verify out --quiet")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_changed_file_is_a_violation(cli: Cli, published: str) -> None:
    spoil("data.parquet")
    said = cli("verify out")
    assert said.code == 1
    assert said.out.startswith("violated: `out`, ")
    assert "\n  the file `data.parquet` has changed since it was written\n" in said.out


def test_a_missing_file_is_a_violation(cli: Cli, published: str) -> None:
    Path("out/data.parquet").unlink()
    said = cli("verify out --json")
    assert said.code == 1
    codes = [violation["code"] for violation in json.loads(said.out)["violations"]]
    assert codes[0] == "file-missing"


def test_the_words_of_the_readme_are_not_judged_but_it_must_be_there(cli: Cli, published: str) -> None:
    readme = Path("out/README.txt")
    readme.write_text("in the words of another version\n")
    assert cli("verify out").code == 0
    readme.unlink()
    assert "  the file `README.txt` is missing\n" in cli("verify out").out


def test_a_file_too_many_is_a_violation(cli: Cli, published: str) -> None:
    Path("out/notes.txt").write_text("anna was here")
    said = cli("verify out")
    assert said.code == 1
    assert "  `notes.txt` does not belong to the release\n" in said.out
    assert "anna" not in said.out


def test_the_ledger_of_another_release_is_a_violation(cli: Cli, published: str) -> None:
    assert cli(f"generalize-time visits.csv --out other --ledger other.ledger {ROLES} --k 3").code == 0
    said = cli("verify out --ledger other.ledger")
    assert said.code == 1
    assert said.out.startswith("violated: ")
    first = said.out.splitlines()[1]
    assert first == "  the ledger does not belong to this release, or the release was not made from it"
    assert len(said.out.splitlines()) > 2
    assert said.err == (
        "As far as a recipient can see, the release is sound: check that the ledger is the one that was made "
        "together with it.\n"
    )


@pytest.mark.parametrize("folder", ["no-such-folder", ".", "visits.csv"])
def test_what_is_no_release_is_wrong_usage(cli: Cli, folder: str) -> None:
    said = cli(f"verify {folder}")
    assert said.code == 2
    what = {"no-such-folder": "it does not exist", "visits.csv": "it is a file"}.get(
        folder, "there is no release.json in it"
    )
    assert said.err.startswith(f"error: `{folder}` is not a release folder: {what}\n")


def test_a_ledger_that_is_none(cli: Cli, published: str) -> None:
    assert cli("verify out --ledger visits.csv").code == 2
    assert cli("measure out --ledger nothing").code == 2


@pytest.mark.parametrize("command", ["verify", "measure", "attack"])
def test_a_ledger_that_others_can_read_is_warned_of(cli: Cli, published: str, command: str) -> None:
    assert cli(f"{command} {published}").err == ""
    Path("ledger").chmod(0o644)
    said = cli(f"{command} {published}")
    assert said.code == 0
    assert said.err.startswith("warning: others can read or change the ledger `ledger`")
    assert cli(f"{command} {published} --quiet").err == ""


def test_measure(cli: Cli, published: str) -> None:
    said = cli(f"measure {published}")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[:3] == [
        "1. 12 rows published in 4 groups: on average 3.0 rows and 2.8 people per group.",
        "2. 0 rows withheld (0 %); 0 people of 6 have no row left.",
        "3. Times were precise to 1 day; they are now precise to 7 days on average.",
    ]
    assert lines[3] == "4. A published row loses 2.81 bits of information on average: 2.81 of `day`."
    assert lines[4].startswith(
        "5. 1,000 random window counts answered from the release: the median error is "
    )
    told = json.loads(cli(f"measure {published} --json").out)
    assert (told["groups"], told["suppressed"]) == (4, 0)


def test_large_numbers_are_grouped() -> None:
    loss = replace(
        tv.measure(*made("time"), windows=1), rows=4_807, rows_per_group=1_602.6, people_per_group=1_000.2
    )
    published = f"4,807 rows published in {loss.groups} groups"
    averages = "on average 1,602.6 rows and 1,000.2 people per group."
    assert loss_summary(loss).sentences[0] == f"{published}: {averages}"


def test_attack(cli: Cli, published: str) -> None:
    said = cli(f"attack {published}")
    assert said.code == 0
    assert said.out == dedent(
        """\
        An outsider knows `zip` and the time of 1 visit -> what they find

                                           original  release
        people with a single candidate        100 %      0 %
        highest chance of naming a person     100 %     50 %
        mean chance of naming a person        100 %   36.6 %
        people out of reach                     0 %      0 %
        candidates, fewest                        1        2
        candidates, median                        1        3
        candidates, most                          1        3

        In the release, a blind guess among the candidates names nobody with a chance above 1 in 2.
        Each person counts by the mean of their visits; people out of reach have no published visit.
        With 1, 2 and 3 known visits, 0 %, 0 % and 0 % of the people have a single candidate.

        What it does not protect:
        One person has up to 66.7 % of the rows of a group.
        The commonest value of `result` makes up 75 % of a group on average and 100 % of the worst group.
        """
    )


def test_attack_with_more_knowledge(cli: Cli, published: str) -> None:
    told = json.loads(cli(f"attack {published} --visits 2 --tolerance 2d --json").out)
    assert told["adversary"] == {"visits": 2, "tolerance": 172_800, "seed": 0, "sample": None}
    said = cli(f"attack {published} --visits 2 --tolerance 90")
    assert "the time of 2 visits to within 90 seconds" in said.out


@pytest.mark.parametrize("options", ["--visits 0", "--tolerance soon", "--tolerance -5", "--visits x"])
def test_an_adversary_that_makes_no_sense(cli: Cli, published: str, options: str) -> None:
    assert cli(f"attack {published} {options}").code == 2


def test_the_picture_of_an_attack(cli: Cli, published: str) -> None:
    assert cli(f"attack {published} --picture attack.svg --quiet").code == 0
    assert ET.parse("attack.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    said = cli(f"attack {published} --picture attack.svg")
    assert said.code == 2
    assert said.err.startswith("error: `attack.svg` exists already")


def test_query(cli: Cli, published: str) -> None:
    assert cli("query out --between 2024-01-01 2024-01-08").out == "6 rows exactly\n"
    assert cli("query out --between 2024-01-01 2024-01-08 --where zip=20").out == "3 rows exactly\n"
    assert cli("query out --between .. 2024-01-04 --where zip=10").out == "1.286 rows, between 0 and 3\n"
    assert cli("query out --where result=bad").out == "3 rows exactly\n"
    told = json.loads(cli("query out --between 2024-01-01 2024-01-04 --json").out)
    assert told == {"value": pytest.approx(18 / 7), "low": 0.0, "high": 6.0, "of": "original"}


def test_the_published_rows_that_may_fit(cli: Cli, published: str) -> None:
    line = "query out --where zip=20 --rows 1"
    counted, headline, names, *rows = cli(line).out.splitlines()
    data = json.loads(cli(f"{line} --json").out)
    assert counted == cli(line.removesuffix(" --rows 1")).out.strip()
    assert headline == f"1 of {data['high']:,.0f} published rows that may fit:"
    assert (names.split(), [row.split() for row in rows]) == (
        list(data["rows"][0]),
        [" ".join(row.values()).split() for row in data["rows"]],
    )
    none = json.loads(cli("query out --where zip=99999 --rows 5 --json").out)
    assert none["rows"] == []


def test_nothing_is_exact_where_rows_were_withheld(cli: Cli, here: Path) -> None:
    with Path("visits.csv").open("a") as file:
        file.write("gina,2024-01-02,30,ok\n")
    assert cli(f"generalize-time visits.csv --out out {ROLES} --k 2 --suppress 0.1 --quiet").code == 0
    said = cli("query out --between 2024-01-01 2024-01-08")
    assert said.out == "6 rows, between 6 and 7, as 1 was withheld\n"
    told = json.loads(cli("query out --json").out)
    assert told == {"value": 12.0, "low": 12.0, "high": 13.0, "of": "original"}


def test_of_a_stream_published_rows_are_counted_and_nothing_is_called_exact(cli: Cli) -> None:
    """Records were moved and withheld, so a number of them is no number of what happened."""
    said = cli(f"query {RELEASES / 'stream'}")
    assert said.out.endswith(" published rows; how many were moved or withheld is not published\n")
    assert "exactly" not in said.out
    told = json.loads(cli(f"query {RELEASES / 'stream'} --json").out)
    assert (told["low"], told["of"]) == (told["high"], "published")


def test_a_column_named_twice_may_have_either_value(cli: Cli, published: str) -> None:
    assert cli("query out --where zip=10 --where zip=20").out == "12 rows exactly\n"
    assert cli("query out --where zip=10 --where zip=20 --where result=bad").out == "3 rows exactly\n"


def test_a_value_that_is_not_published_is_said_to_be_unknown(cli: Cli, published: str) -> None:
    said = cli("query out --where zip=77")
    assert said.out == "0 rows exactly\nnothing published shows a value asked for in `zip`\n"
    assert json.loads(cli("query out --where zip=77 --json").out)["unknown"] == ["zip"]


def test_a_wiped_column_may_be_anything(cli: Cli, here: Path) -> None:
    wiped = f"generalize-time visits.csv --out wiped --ledger l {ROLES} --k 3 --hierarchy zip=suppression"
    assert cli(f"{wiped} --level zip=1").code == 0
    said = cli("query wiped --where zip=20")
    assert said.out.startswith("6 rows, between 0 and 12\nnothing published shows a value asked for in `zip`")
    assert cli("query wiped --where 'zip=*'").out == "12 rows exactly\n"


def test_conditions_may_be_negated_or_any_of_several(cli: Cli, published: str) -> None:
    every, tens, bad = (
        int(cli(f"query out {where}").out.split()[0])
        for where in ("", "--where zip=10", "--where result=bad")
    )
    both = int(cli("query out --where zip=10 --where result=bad").out.split()[0])
    assert cli("query out --where zip!=10").out == f"{every - tens} rows exactly\n"
    assert (
        cli("query out --where zip=10 --where result=bad --any").out == f"{tens + bad - both} rows exactly\n"
    )
    assert both < min(tens, bad)
    said = cli("query out --where zip=10 --where zip!=20")
    assert said.code == 2
    assert "`zip` has conditions with = and with !=" in said.err
    assert cli("query out --any").code == 2


def test_a_range_of_text_is_compared_as_text(cli: Cli, published: str) -> None:
    said = cli("query out --where zip=1..15")
    assert said.out == "6 rows exactly\n"
    assert said.err == "`zip` holds text, so the range is compared letter by letter.\n"


@pytest.mark.parametrize(
    "options",
    [
        "--between soon later",
        "--between 2024-01-01",
        "--between 2024-02-01 2024-01-01",
        "--where zip",
        "--where zip=20..10",
        "--where who=anna",
        "--where =3",
    ],
)
def test_a_question_that_makes_no_sense(cli: Cli, published: str, options: str) -> None:
    said = cli(f"query out {options}")
    assert said.code == 2
    assert "error: " in said.err
    assert "\n\nhint: " in said.err


def test_relative_time_is_asked_for_in_its_unit(cli: Cli, here: Path) -> None:
    Path("offsets.csv").write_text("who,after\n" + "".join(f"p{n},{n * 30}\n" for n in range(10)))
    roles = "--respondent who --time after --unit minute"
    assert cli(f"generalize-time offsets.csv --out out --ledger ledger {roles} --k 2 --choose hour").code == 0
    assert cli("query out --between 0 60").out == "2 rows exactly\n"
    assert cli("query out --between 0 noon").code == 2
    assert "to within 10 minutes" in cli("attack out --ledger ledger --tolerance 10").out
    assert cli("attack out --ledger ledger --tolerance 10m").code == 2
    assert (
        "Times were precise to 1 minute; they are now precise to 1 hour"
        in cli("measure out --ledger ledger").out
    )


def test_profile(cli: Cli) -> None:
    said = cli("profile visits.csv --respondent who --time day --quasi zip --k 2 --granularity week")
    assert said.code == 1
    assert said.out == dedent(
        """\
        visits.csv -> what `zip` and `day` reveal to an outsider

        time by    people alone  in groups under 2  share of people  smallest group  in rows  groups
        unchanged             6                  6            100 %               1        1      12
        week                  0                  0              0 %               2      3 !       4

        --k 2 --recode  bits lost per row  alone by 1 visit  2 visits  3 visits
        global                          0               0 %       0 %       0 %
        tiling                          0               0 %       0 %       0 %
        refined                         0               0 %       0 %       0 %
        local                           0               0 %       0 %       0 %

        12 rows of 6 people: a median of 2 rows per person, 3 at most.
        ! marks where counting rows, not people, would overstate the smallest group.
        not yet 2-anonymous: 6 of 6 people are in a group of fewer than 2.
        """
    )


def test_a_table_that_is_anonymous_already(cli: Cli, here: Path) -> None:
    Path("safe.csv").write_text("who,day\na,2024-01-01\nb,2024-01-01\nc,2024-01-01\n,2024-01-01\n")
    said = cli("profile safe.csv --respondent who --time day --k 3 --nulls withhold")
    assert said.code == 0
    assert "1 row without a person or a time left out." in " ".join(said.out.split())
    assert said.out.endswith("\nholds: the table is already 3-anonymous.\n")
    assert (
        json.loads(cli("profile safe.csv --respondent who --time day --k 4 --nulls withhold --json").out)[
            "already_anonymous"
        ]
        is False
    )


@pytest.mark.parametrize("option", ["--keep zip", "--drop result", "--drop-rest"])
def test_profile_knows_no_roles_that_it_does_not_need(cli: Cli, option: str) -> None:
    said = cli(f"profile visits.csv --respondent who --time day {option} --k 2")
    assert said.code == 2
    assert f"there is no option `{option.split(maxsplit=1)[0]}`" in said.err


@pytest.mark.parametrize(
    "line",
    [
        "profile visits.csv --respondent who --time day --quasi zip --k 2",
        "verify out --ledger ledger",
        "measure out --ledger ledger",
        "attack out --ledger ledger --tolerance 90m",
    ],
)
def test_pages_fit_a_narrow_terminal(
    cli: Cli, published: str, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(Output, "width", 72)
    said = cli(line)
    assert said.code in (0, 1)
    assert max(map(len, said.out.splitlines())) <= 72


def test_profile_of_bad_input(cli: Cli) -> None:
    assert cli("profile visits.csv --respondent who --time day --k 1").code == 2
    said = cli("profile visits.csv --respondent who --time day --quasi zip,result --k 2")
    assert said.code == 2
    assert "one column at a time: --quasi zip --quasi result" in said.err
    assert names() == ["visits.csv"]


def test_a_clean_copy_is_written_of_a_release_that_holds(cli: Cli, published: str) -> None:
    said = cli("verify out --rewrite clean")
    assert (said.code, said.err) == (0, "A clean copy is in `clean`.\n")
    assert cli("verify clean").code == 0
    assert open_release("clean").table.equals(open_release("out").table)
    assert cli("verify out --rewrite clean").code == 2
