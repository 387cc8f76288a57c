"""What surrounds every command."""

from __future__ import annotations

import errno
import os
import signal
import sys
from contextlib import suppress

import pytest
from tests.cli.conftest import ROLES, Cli, names

import timeveil.models.events.words  # noqa: F401 - what it imports is not what a test patches
from timeveil.cli import output
from timeveil.domain.wording import printable

MARK = "Zk9canary"
RUN = f"generalize-time visits.csv --out out {ROLES} --k 2"


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("timeveil.jobs.publish.publish", fail)


def test_a_bug_of_ours_is_told_without_its_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ValueError(MARK))
    said = cli(RUN)
    assert said.code == 70
    assert said.out == ""
    assert said.err.startswith("error: internal error: ValueError at timeveil/cli/publishing.py:")
    assert "please report it" in said.err
    assert MARK not in said.err
    assert "Traceback" not in said.err


def test_the_traceback_is_there_for_who_asks(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMEVEIL_DEBUG", "1")
    failing(monkeypatch, ValueError(MARK))
    said = cli(RUN)
    assert said.code == 70
    assert "Traceback" in said.err


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(MARK), "there is not enough memory for this table"),
        (OSError(errno.ENOSPC, MARK), "the disk is full"),
        (PermissionError(errno.EACCES, MARK), "no permission to read or write a file that is needed"),
    ],
)
def test_what_the_machine_refuses_is_no_bug(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    failing(monkeypatch, error)
    said = cli(RUN)
    assert said.code == 2
    assert said.err.startswith(f"error: {message}\n\nhint: ")
    assert MARK not in said.err


def test_an_interrupt_says_that_nothing_was_written(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    said = cli(RUN)
    assert (said.code, said.out, said.err) == (130, "", "interrupted; nothing was written\n")
    assert names() == ["visits.csv"]


def test_an_interrupt_after_the_writing_says_so(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(output.Output, "result", interrupt)
    said = cli(f"{RUN} --ledger ledger")
    assert (said.code, said.out, said.err) == (130, "", "interrupted; `out` and `ledger` were written\n")
    assert names() == ["ledger", "out", "visits.csv"]


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted; nothing was written\n"), (signal.SIGTERM, 143, "")],
)
@pytest.mark.parametrize("turned_into", [SystemError, None])
def test_a_signal_that_compiled_code_loses_ends_it_all_the_same(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    code: int,
    word: str,
    turned_into: type[Exception] | None,
) -> None:
    """A kernel turns what a signal raised into another error, or goes on as if nothing had been."""
    work = sys.modules["timeveil.models.events.method"].generalize_time

    def kernel(*given: object, **options: object) -> object:
        with suppress(KeyboardInterrupt, SystemExit):
            output.stop(number, None)
        if turned_into is not None:
            raise turned_into
        return work(*given, **options)

    monkeypatch.setattr("timeveil.models.events.method.generalize_time", kernel)
    try:
        said = cli(RUN)
        told = (said.code, said.out, said.err)
    except SystemExit as end:  # as `main` lets it pass
        told = (end.code, "", "")
    assert told == (code, "", word)
    assert names() == ["visits.csv"]


def test_an_interrupted_demo_leaves_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["timeveil.models.events.words.pictures"], "attack_picture", interrupt)
    said = cli("demo --out demo")
    assert (said.code, said.err) == (130, "interrupted; nothing was written\n")
    assert names() == ["visits.csv"]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("generalise-time", "there is no command `generalise-time`", "did you mean `generalize-time`?"),
        (
            "dance",
            "there is no command `dance`",
            "there are suggest, profile, generalize-time, publish-stream",
        ),
        ("verify", "`DIR` is missing", "release folder, such as published"),
        ("verify out --leger x", "there is no option `--leger`", "did you mean `--ledger`?"),
        ("attack out", "`--ledger` is missing", "--ledger NAME.ledger"),
        ("verify out more", "unexpected extra argument", "`timeveil verify --help` explains it"),
        ("query out --between a", "option '--between' requires 2 arguments", "`timeveil query --help`"),
        (f"{RUN} --suppress much", "`--suppress` is not a number", "--suppress 0.01"),
        ("--nonsense", "there is no option `--nonsense`", "`timeveil --help` explains it"),
    ],
)
def test_wrong_usage_is_told_in_the_same_form(cli: Cli, line: str, message: str, hint: str) -> None:
    said = cli(line)
    assert said.code == 2
    assert said.out == ""
    told, _, advice = said.err.partition("\n\nhint: ")
    assert told.startswith("error: ")
    assert message in told
    assert hint in advice
    assert "Usage" not in said.err


def test_names_cannot_play_tricks_on_a_terminal(cli: Cli) -> None:
    said = cli("profile visits.csv --respondent who --time $'\\x1b[2Jday' --k 2".replace("$", ""))
    assert "\x1b" not in said.err
    assert printable("a\x1b]0;b\x07c\u202ed\n", other="\n") == "a?]0;b?c?d\n"


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.said = ""

    def write(self, text: str) -> int:
        self.said += text
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2


def test_colours_change_nothing_but_the_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    import re

    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    text = "a.csv -> 5-anonymous [bold]x[/bold]\n1. Chose `week`: " + "long " * 60 + "\n  $ timeveil run\n"
    output.Output().print(text)
    assert "\x1b[" in terminal.said
    assert re.sub(r"\x1b\[[0-9;]*m", "", terminal.said) == text


def test_the_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS comes first; a terminal that does not know its size has 80."""
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "64")
    assert output.Output().width == 64
    monkeypatch.setenv("COLUMNS", "20")
    assert output.Output().width == 40
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((0, 0)))
    assert output.Output().width == 80


def test_a_bar_appears_when_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "PATIENCE", 0.01)
    monkeypatch.setenv("TERM", "xterm-256color")
    with output.Output().progress() as progress:
        progress("counting people", 0.4)
        for _ in range(200):
            time.sleep(0.02)
            if "counting people" in terminal.said:
                break
    assert "counting people" in terminal.said
    with output.Output(quiet=True).progress() as progress:
        progress("counting people", 0.4)


def test_no_bar_for_quick_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with output.Output().progress() as progress:
        progress("counting people", 0.4)
    assert terminal.said == ""


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (f"{RUN} --k 3", "--k"),
        (f"{RUN} -k 2", "--k"),
        (f"{RUN} --out {MARK}", "--out"),
        (f"{RUN} --zone={MARK} --zone {MARK}", "--zone"),
        ("query out --between 1 2 --between 3 4", "--between"),
        ("run job.toml --json --k 1", ""),
    ],
)
def test_an_option_that_takes_one_value_is_not_typed_twice(cli: Cli, line: str, option: str) -> None:
    said = cli(line)
    assert said.code == 2
    if option:
        assert said.err == (
            f"error: `{option}` is given 2 times, and takes one value\n\nhint: give {option} once\n"
        )
    assert MARK not in said.err
    assert names() == ["visits.csv"]


def test_what_is_repeatable_may_be_repeated(cli: Cli) -> None:
    assert cli(f"{RUN} --quiet --quiet --granularity week --granularity month").code == 0
