"""Questions about expressions of instants: bounds that hold, and nothing run but arithmetic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.oracles import questions as oracle

import timeveil as tv
from timeveil.errors import ParameterError
from timeveil.models.series.judges.expressions import LONGEST, Expression

NAMES = ["A1", "A2", "2005"]


def series_of(people: int = 60, seed: int = 0) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return np.abs(chance.normal(60, 30, (people, 3)).cumsum(axis=1)).round(2)


def made(matrix: np.ndarray, **options: object) -> tuple[tv.Release, tv.Ledger]:
    table = pa.table({name: matrix[:, number] for number, name in enumerate(NAMES)})
    return tv.anonymize_series(table, tv.Roles(series=NAMES), k=4, p=2, method="kapra", **options)


def test_the_papers_own_question() -> None:
    """Definition 1's example: a rise of less than 50, and by half at least."""
    matrix = series_of()
    release, _ = made(matrix)
    rise, ratio = matrix[:, 1] - matrix[:, 0], matrix[:, 1] / matrix[:, 0]
    truth = int(((rise <= 50) & (ratio >= 1.5)).sum())
    assert truth > 0
    question = tv.ExpressionRange({"A2 - A1": (None, 50), "A2 / A1": (1.5, None)})
    count = tv.answer(release, question)
    assert count.low <= truth <= count.high
    assert abs(count.value - truth) < 0.2 * len(matrix)
    named = tv.ExpressionRange(
        {"rise": (None, 50), "ratio": (1.5, None)}, {"rise": "A2 - A1", "ratio": "A2/A1"}
    )
    assert tv.answer(release, named) == count


def test_a_function_in_python() -> None:
    """The guess is that of the same expression; nothing is certain of a function that nobody can read."""
    matrix = series_of()
    release, _ = made(matrix)
    ranges = {"rise": (10, 50)}
    typed = tv.answer(release, tv.ExpressionRange(ranges, {"rise": "A2 - A1"}))
    called = tv.answer(release, tv.ExpressionRange(ranges, {"rise": lambda at: at["A2"] - at["A1"]}))
    assert (called.low, called.high) == (0, len(matrix))
    assert abs(called.value - typed.value) < 0.1 * len(matrix)
    highest = tv.ExpressionRange({"peak": (80, None)}, {"peak": lambda at: np.maximum(at["A1"], at["A2"])})
    assert tv.answer(release, highest).value > 0


@pytest.mark.parametrize("function", [lambda _: "a", lambda _: [1, 2], lambda at: at])
def test_a_function_gives_one_number_for_each_series(function: object) -> None:
    with pytest.raises(ParameterError, match="one number for each series"):
        tv.answer(made(series_of())[0], tv.ExpressionRange({"f": (0, 1)}, {"f": function}))


def test_a_plain_instant_is_a_range_count() -> None:
    release, _ = made(series_of())
    by_range = tv.answer(release, tv.RangeCount({"2005": (100, 180)}))
    by_name = tv.answer(release, tv.ExpressionRange({"`2005`": (100, 180)}))
    assert (by_name.low, by_name.high) == (by_range.low, by_range.high)
    assert by_name.value == pytest.approx(by_range.value, rel=0.05)
    whole = tv.answer(release, tv.ExpressionRange({"A1 + A2 - (A2 + A1) * 1": (None, None)}))
    assert whole.low == whole.value == release.table.num_rows


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_for_any_values_between(seed: int) -> None:
    """Against the slow evaluation of every series, with divisors that may be 0 and huge numbers."""
    chance = np.random.default_rng(seed)

    def tree(depth: int) -> object:
        if depth == 0:
            return int(chance.integers(3)) if chance.random() < 0.8 else float(chance.integers(-2, 3))
        return str(chance.choice(list("+-*/"))), tree(depth - 1), tree(depth - 1)

    low = chance.integers(-4, 4, (30, 3)).astype(float) * chance.choice([1.0, 1e200])
    high = low + chance.integers(0, 3, (30, 3))
    values = low + chance.random((30, 3)).round(1) * (high - low)
    written = tree(2)
    text = oracle.written(written)
    try:
        expression = Expression(text, ["t0", "t1", "t2"])
    except ParameterError:
        assert "t" not in text
        return
    used = [["t0", "t1", "t2"].index(name) for name in expression.instants]
    least, most, defined = expression.bounds(low[:, used], high[:, used])
    results = expression.value(values[:, used])
    for row in range(30):
        truth = oracle.evaluated(written, values[row].tolist())
        assert (truth is None and np.isnan(results[row])) or truth == results[row]
        assert truth is not None or not defined[row]
        assert truth is None or least[row] <= truth <= most[row]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("A1 +", "`A1 +` is not an expression"),
        ("A1 - A9", "`A9` in `A1 - A9` is not an instant"),
        ("__import__('os').system('x')", "is not arithmetic"),
        ("A1 ** 2", "`A1 ** 2`"),
        ("A1.real", "`A1.real` is not arithmetic of instants"),
        ("A1 if A2 else A1", "not arithmetic"),
        ("A1 < A2", "`A1 < A2` is not arithmetic"),
        ("A1 + 'x'", "constant that is not a finite number"),
        ("A1 + 1e999", "constant that is not a finite number"),
        ("A1 + " + "9" * 400, "constant that is not a finite number"),
        ("A1 + 1j", "constant that is not a finite number"),
        ("A1 + True", "constant that is not a finite number"),
        ("1 + 2", "names no instant"),
        ("`A1", "is not an expression"),
        ("(" * 300 + "A1" + ")" * 150, "is not an expression"),
        ("A1 + " * LONGEST + "A1", f"not a text of 1 to {LONGEST} characters"),
        ("2005 - A1", "`2005` in `2005 - A1` is a number, and an instant has that name"),
        ("A1 # - A2", "has marks that are read only in backquotes"),
        ("\uff21\uff11", "has marks that are read only in backquotes"),
        ("", "not a text"),
        (3, "not a text"),
    ],
)
def test_anything_else_is_refused_by_name(text: object, part: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Expression(text, NAMES)
    assert part in str(caught.value)
    assert caught.value.hint


def test_long_chains_are_no_trouble() -> None:
    text = "A1" + "-A1" * 160
    expression = Expression(text, NAMES)
    assert expression.value(np.array([[2.0]])).tolist() == [-318.0]
    assert Expression("-" * 400 + "A1", NAMES).value(np.array([[2.0]])).tolist() == [2.0]


def test_names_in_backquotes_are_no_others() -> None:
    names = ["_0_", "__0", "2005", "h#1", "A\uff11"]
    expression = Expression("`2005` - _0_ - 100 * __0 + `h#1` * `A\uff11`", names)
    assert expression.value(np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])).tolist() == [-178.0]


def test_a_number_that_is_also_an_instant_is_written_with_a_point() -> None:
    expression = Expression("2005.0 - A1 - `2005`", NAMES)
    assert expression.value(np.array([[4.0, 1.0]])).tolist() == [2000.0]
    assert Expression("0.5 * `0.5`", ["0.5"]).value(np.array([[4.0]])).tolist() == [2.0]


def test_infinity_times_0_is_no_value() -> None:
    """What overflows and is then multiplied by an interval around 0 surely fits nothing."""
    expression = Expression("A1 * 1e308 * 10 * A2", NAMES)
    _, _, defined = expression.bounds(np.array([[-1.0, -1.0]]), np.array([[1.0, 1.0]]))
    assert np.isnan(expression.value(np.array([[1.0, 0.0]]))).all()
    assert not defined.any()


def test_with_a_shape_and_without_values() -> None:
    matrix = series_of(seed=3)
    release, _ = made(matrix)
    shape = tv.PatternRange({("A1", "A2"): (None, 0)})
    both = tv.answer(release, tv.Complex(pattern=shape, range=tv.ExpressionRange({"A2 - A1": (None, 50)})))
    rise = matrix[:, 1] - matrix[:, 0]
    assert both.low <= ((rise >= 0) & (rise <= 50)).sum() <= both.high
    part, _ = made(matrix, publish_values=["A1", "A2"])
    estimated = tv.answer(part, tv.ExpressionRange({"`2005` - A1": (60, None)}))
    assert estimated.low <= (matrix[:, 2] - matrix[:, 0] >= 60).sum() <= estimated.high
    with pytest.raises(ParameterError, match="ends before it starts"):
        tv.answer(release, tv.ExpressionRange({"A1": (2, 1)}))
