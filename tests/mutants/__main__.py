"""Judge the tests of the judges: make wrong changes in `verify`, one at a time, and see which go unnoticed.

    python -m tests.mutants [--number 200] [--seed 0] [--only PART] [--at MODULE:NUMBER,...] [--minutes 60]
                            [--patience 1]

Each change is first shown to the catalogue of `tests/sabotage`, made once and judged anew in a fork.
What survives that is shown to the tests of its module. Whatever does not end in time counts as noticed; on a
busy machine, `--patience 5` waits five times as long.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pyarrow as pa

from tests.mutants.hook import install, path_of
from tests.mutants.mutating import Mutant, mutants_of
from tests.sabotage import patterns, series, stream_groups, streams, time_tables  # noqa: F401
from tests.sabotage.tampering import CATALOGUE, Sabotage, Tampered
from tests.sabotage.valid import made, rounds, shapes
from timeveil.models import FOLDERS

_JUDGE_SECONDS, _TEST_SECONDS, _EACH = 60, 300, 2
_TESTS = {
    "time": [
        "tests/unit/verify/test_verify.py",
        "tests/unit/query/test_window.py",
        "tests/sabotage/test_steps.py",
        "tests/sabotage/test_protection.py",
        "tests/sabotage/test_repeated.py",
        "tests/unit/generalization/test_durations.py",
        "tests/unit/generalization/test_decoys.py",
        "tests/properties/test_recount.py",
    ],
    "stream": [
        "tests/unit/verify/test_verify_stream.py",
        "tests/properties/test_recurring.py",
        "tests/properties/test_stream_groups.py",
    ],
    "series": [
        "tests/unit/verify/test_verify_series.py",
        "tests/unit/series/test_quasi.py",
        "tests/sabotage/test_group_means.py",
        "tests/properties/test_several_series.py",
    ],
    "patterns": ["tests/unit/verify/test_pattern_verify.py", "tests/properties/test_pattern_judges.py"],
}
_EVERY = [
    "tests/unit/verify/test_bounds_and_order.py",
    "tests/unit/verify/test_statements.py",
    "tests/unit/judging/test_gather.py",
]
_OTHER_JUDGES = {
    "time": ["tests/unit/measure/test_loss.py"],
    "stream": ["tests/unit/query/test_stream.py", "tests/unit/measure/test_stream_loss.py"],
    "series": ["tests/unit/measure/test_series_loss.py", "tests/unit/query/test_series.py"],
    "patterns": ["tests/unit/measure/test_pattern_loss.py"],
}
"""Tests of judges that read the same evidence as `verify`."""
_SHARED_TESTS = ["tests/unit/query/test_codes.py", "tests/unit/compare/test_compare.py"]
_JUDGING = re.compile(
    r"timeveil\.(evidence\.(checks|codes|published)|models\.\w+\.(evidence|judges)(\.\w+)?)"
)
_LOAD = (
    "import sys, timeveil.models as m; [m.part(f, 'judges.verify') for f in m.FOLDERS]; print(*sys.modules)"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A release for the judge to see, and what must come of it: None where it is valid."""

    model: str
    one: Sabotage | None
    spoilt: Tampered


def modules() -> list[str]:
    """Every module that takes part in checking a promise: evidence and judges that `verify` loads."""
    loaded = subprocess.run([sys.executable, "-c", _LOAD], capture_output=True, text=True, check=True).stdout
    return sorted(filter(_JUDGING.fullmatch, loaded.split()))


def models_of(module: str) -> list[str]:
    """The models that a module judges."""
    return [model for model, folder in FOLDERS.items() if f".models.{folder}." in module] or list(_TESTS)


def gallery() -> list[Shown]:
    """Every valid release, then every entry of the catalogue done to one."""
    shown = [Shown(model, None, Tampered(*made(shape, 0))) for model in _TESTS for shape in shapes(model)]
    chance = random.Random(0)  # noqa: S311
    for one in chance.sample(CATALOGUE, len(CATALOGUE)):
        done = 0
        for shape, seed in rounds(one.on):
            if done == _EACH:
                break
            spoilt = one.do(*made(shape, seed), random.Random(f"{one.what} {shape} {seed}"))  # noqa: S311
            if spoilt is not None:
                shown.append(Shown(one.model, one, spoilt))
                done += 1
    return shown


def is_as_it_should(shown: Shown, verify: object) -> bool:
    one, release, ledger = shown.one, shown.spoilt.release, shown.spoilt.ledger
    seen = {}
    for scope, given in (("recipient", None), ("with ledger", ledger)):
        verdict = verify(release, given)  # type: ignore[operator]
        if verdict.scope != scope:
            return False
        seen[scope] = [(violation.code, violation.message) for violation in verdict.violations]
    outside, inside = seen.values()
    if one is None or one.notices == "nobody":
        return not outside and not inside
    if one.notices == "custodian" and outside:
        return False
    told = inside if one.notices == "custodian" else outside
    return any(code == one.code and shown.spoilt.says in said for code, said in told)


def survives_the_catalogue(module: str, mutant: Mutant, shown: list[Shown], patience: float) -> bool:
    """In a forked process, so that nothing of the change is left behind."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    signal.setitimer(signal.ITIMER_REAL, patience * _JUDGE_SECONDS)
    survived = False
    try:
        again = ("timeveil.judging", "timeveil.evidence", "timeveil.models")
        for name in [name for name in sys.modules if name.startswith(again)]:
            del sys.modules[name]
        install(module, mutant.number)
        verify = importlib.import_module("timeveil.judging").verify
        survived = all(is_as_it_should(one, verify) for one in shown)
    except BaseException:  # noqa: BLE001
        survived = False
    os._exit(0 if survived else 1)


def survives_the_tests(module: str, mutant: Mutant, patience: float) -> bool:
    files = [*_EVERY, *(file for model in models_of(module) for file in _TESTS[model])]
    if "evidence" in module:
        files += [file for model in models_of(module) for file in _OTHER_JUDGES[model]]
    if module.startswith("timeveil.evidence"):
        files += _SHARED_TESTS
    environment = {**os.environ, "MUTANT": f"{module}:{mutant.number}", "CI": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-n0",
        "-p",
        "tests.mutants.hook",
        "-p",
        "no:cacheprovider",
    ]
    try:
        done = subprocess.run(
            [*command, *files],
            env=environment,
            capture_output=True,
            timeout=patience * _TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--number", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", default="")
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--patience", type=float, default=1, help="how many times as long to wait")
    asked.add_argument("--at", default="", help="these alone: MODULE:NUMBER,MODULE:NUMBER")
    asked.add_argument("--catalogue-alone", action="store_true")
    given = asked.parse_args()
    pa.set_cpu_count(1)
    everything = [
        (module, mutant)
        for module in modules()
        if given.only in module
        for mutant in mutants_of(path_of(module).read_text("utf-8"))
    ]
    random.Random(given.seed).shuffle(everything)  # noqa: S311
    chosen = everything[: given.number]
    if given.at:
        wanted = set(given.at.split(","))
        chosen = [pair for pair in everything if f"{pair[0]}:{pair[1].number}" in wanted]
    shown, begun = gallery(), time.monotonic()
    say(
        f"{len(everything):,} changes are possible, {len(chosen):,} are tried; "
        f"{len(shown):,} releases are judged"
    )
    counts = {"by the catalogue": 0, "by other tests": 0, "by nobody": 0}
    for module, mutant in chosen:
        if time.monotonic() - begun > 60 * given.minutes:
            say(f"out of time after {sum(counts.values()):,} changes")
            break
        models = models_of(module)
        noticed, releases = "by the catalogue", [one for one in shown if one.model in models]
        if survives_the_catalogue(module, mutant, releases, given.patience):
            noticed = "by other tests"
            if given.catalogue_alone or survives_the_tests(module, mutant, given.patience):
                noticed = "by nobody"
                say(f"  src/{module.replace('.', '/')}.py:{mutant.line}: {mutant.what} ({mutant.number})")
        counts[noticed] += 1
    say(", ".join(f"{number} noticed {who}" for who, number in counts.items()))


if __name__ == "__main__":
    main()
