"""The mutator makes every change that it says, one at a time, and leaves words alone."""

from __future__ import annotations

import ast

from tests.mutants.__main__ import modules
from tests.mutants.hook import SOURCE as SOURCE_ROOT
from tests.mutants.hook import path_of
from tests.mutants.mutating import mutants_of, mutated

SOURCE = '''
def judge(rows, least) -> bool:
    """At least 3 of them."""
    findings.check("no fewer than 3")
    wrong = 0
    for row in rows:
        wrong += row < least and not row.spared
    if wrong:
        findings.refuse("few", f"{wrong} of {len(rows) - 1}")
    return wrong == 0
'''


def test_every_kind_of_change_is_made_once():
    found = [mutant.what for mutant in mutants_of(SOURCE)]
    assert sorted(found) == sorted(
        ["0 to 1", "0 to -1", "statement dropped", "and to or", "< to <=", "not lost", "statement dropped",
         "returns True", "returns False", "== to !=", "0 to 1", "0 to -1"]
    )  # fmt: skip


def test_each_changes_one_place_and_none_the_words():
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants_of(SOURCE):
        changed = ast.unparse(mutated(SOURCE, mutant.number)).splitlines()
        assert len(changed) == len(plain)
        assert sum(one != other for one, other in zip(plain, changed, strict=True)) == 1, mutant
        assert changed[1:3] == plain[1:3]


def test_there_is_something_to_change_where_promises_are_checked():
    judges = SOURCE_ROOT.glob("timeveil/models/*/judges/verify.py")
    assert not [path for path in judges if not mutants_of(path.read_text("utf-8"))]


def test_every_module_that_is_changed_exists():
    assert [module for module in modules() if not path_of(module).exists()] == []
