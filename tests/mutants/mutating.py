"""Small wrong changes to a module, one at a time: what a judge's tests must notice.

A change is a comparison turned, a number off by one, `and` for `or`, a `not` lost, plus for minus, a
statement dropped, or a yes and no returned whatever was asked. Texts are left alone, and so is the list of
checks done: wording is not judged here.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OTHER: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.FloorDiv: ast.Mult, ast.Mult: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong change: the line, what it is, and its number within the module."""

    line: int
    what: str
    number: int


def mutants_of(source: str) -> list[Mutant]:
    """Every change there is to a module.

    >>> [mutant.what for mutant in mutants_of("def f(a):\\n    return a < 1")]
    ['< to <=', '1 to 2', '1 to 0']
    """
    found = _changes(ast.parse(source))
    return [Mutant(line, what, number) for number, (line, what, *_) in enumerate(found)]


def mutated(source: str, number: int) -> ast.Module:
    """The module with one change made.

    >>> ast.unparse(mutated("def f(a):\\n    return a < 1", 0))
    'def f(a):\\n    return a <= 1'
    """
    tree = ast.parse(source)
    _, _, parent, field, place, new = next(change for at, change in enumerate(_changes(tree)) if at == number)
    if place is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[place] = new
    return ast.fix_missing_locations(tree)


_Change = tuple[int, str, ast.AST, str, int | None, ast.AST]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    yield from _inside(tree, returns_bool=False)


def _inside(node: ast.AST, *, returns_bool: bool) -> Iterator[_Change]:
    """Changes of what a node holds, in the order of the text; annotations and texts are passed over."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or _is_text(child):
                continue
            for what, new in _variants(child, returns_bool=returns_bool):
                yield getattr(child, "lineno", 0), what, node, field, place, new
            inner = returns_bool
            if isinstance(child, ast.FunctionDef):
                inner = isinstance(child.returns, ast.Name) and child.returns.id == "bool"
            yield from _inside(child, returns_bool=inner)


def _is_text(node: ast.AST) -> bool:
    """Docstrings, imports, and the words of a check that is being done."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if not isinstance(node, ast.Expr):
        return False
    call = node.value
    if isinstance(call, ast.Constant):
        return True
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "check"


def _variants(node: ast.AST, *, returns_bool: bool) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[first, *_]):
            new = copy.deepcopy(node)
            new.ops[0] = _TURNED[type(first)]()
            yield f"{_sign(first)} to {_sign(new.ops[0])}", new
        case ast.BoolOp():
            new_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield (
                ("and to or" if isinstance(node.op, ast.And) else "or to and"),
                ast.BoolOp(new_op, copy.deepcopy(node.values)),
            )
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield "not lost", copy.deepcopy(node.operand)
        case ast.BinOp() if type(node.op) in _OTHER and not isinstance(node.left, ast.JoinedStr):
            new_bin = copy.deepcopy(node)
            new_bin.op = _OTHER[type(node.op)]()
            yield f"{_sign(node.op)} to {_sign(new_bin.op)}", new_bin
        case ast.Constant(value=bool()):
            yield f"{node.value} to {not node.value}", ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield f"{node.value} to {node.value + 1}", ast.Constant(node.value + 1)
            yield f"{node.value} to {node.value - 1}", ast.Constant(node.value - 1)
        case ast.Expr() | ast.AugAssign():
            yield "statement dropped", ast.Pass()
        case ast.Return(value=ast.AST()) if returns_bool:
            for answer in (True, False):
                if not (isinstance(node.value, ast.Constant) and node.value.value is answer):
                    yield f"returns {answer}", ast.Return(ast.Constant(answer))


def _sign(op: ast.AST) -> str:
    signs = {
        ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
        ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.Add: "+", ast.Sub: "-",
        ast.FloorDiv: "//", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|",
    }  # fmt: skip
    return signs[type(op)]
