"""Kernels in Python on lists of numbers in place of arrays, which is several times as quick, to the same digits.

An element of an array is a number of NumPy: slow to take out, and slow to reckon with. So a kernel that is run as it
is works on nested lists, a[x][y] for a[x, y], and what it has written is put into the arrays afterwards.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import itertools
import math
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, TypeGuard

import numpy as np

Lists = Any
"""A number, or a list of such, nested as deeply as the array has dimensions."""


class Empty(list[Any]):
    """A list of nothing that remembers how long its parts would be."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.part = filled(shape[1:]) if shape[1:] else math.nan

    def __getitem__(self, place: Any) -> Any:
        """A part, of which the length is true."""
        return self.part


def filled(shape: int | tuple[int, ...], value: float = 0.0) -> Lists:
    """Lists of this shape with one value everywhere."""
    first, *others = shape if isinstance(shape, tuple) else (shape,)
    if not first:
        return Empty((first, *others))
    if not others:
        return [value] * first
    if 0 in others:
        return [filled(tuple(others), value) for _ in range(first)]
    return [[value] * others[0] for _ in range(first)] if len(others) == 1 else np.full(shape, value).tolist()


def shape_of(lists: Lists) -> tuple[int, ...]:
    """The shape of an array that is given as lists."""
    return (len(lists), *shape_of(lists[0])) if isinstance(lists, list) else ()


NUMPY = SimpleNamespace(
    inf=np.inf,
    int64=int,
    float64=float,
    empty=filled,
    zeros=lambda shape, kind=float: filled(shape, kind(0)),
    full=lambda shape, value, _kind=float: filled(shape, value),
    empty_like=lambda lists: filled(shape_of(lists)),
)
"""What kernels take from NumPy, on lists."""


def as_lists(value: Any) -> Any:
    """An array, or those in a tuple, as lists; other values as they are."""
    if isinstance(value, np.ndarray):
        return value.tolist() if value.size else filled(value.shape)
    if isinstance(value, tuple):
        parts = [as_lists(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.item() if isinstance(value, np.generic) else value


def put_back(lists: Any, value: Any) -> None:
    """Fill an array, or those in a tuple, with what has become of its lists, where it can be written to."""
    if isinstance(value, tuple):
        for part, each in zip(lists, value, strict=True):
            put_back(part, each)
    elif isinstance(value, np.ndarray) and value.flags.writeable and value.size:
        value[...] = lists


def on_lists(function: FunctionType, names: dict[str, Any], *, careful: bool = False) -> FunctionType:
    """The function on lists, bound to the names of a module; where `careful`, 1/0 is infinite, as in compiled code."""
    names |= {f"lists.{each.__name__}": each for each in (shape_of, column_of, over)}
    code = _code(function.__module__, function.__name__, careful)
    return FunctionType(code, names, function.__name__, function.__defaults__)


@functools.cache
def _code(module: str, name: str, careful: bool) -> CodeType:
    """The code of a function of a module on lists."""
    change = _Careful() if careful else _Listed()
    tree = ast.Module([change.visit(_bare(_definitions(module, careful)[name]))], [])
    code = compile(ast.fix_missing_locations(tree), str(importlib.import_module(module).__file__), "exec")
    return next(each for each in code.co_consts if isinstance(each, CodeType))


@functools.cache
def _definitions(module: str, _careful: bool) -> dict[str, ast.FunctionDef]:
    """The functions of a module by name, read for each of the ways in which they are changed."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    return {each.name: each for each in body if isinstance(each, ast.FunctionDef)}


def _bare(function: ast.FunctionDef) -> ast.FunctionDef:
    """A function without what is computed when it is defined."""
    function.decorator_list, function.args.defaults = [], []
    return function


def column_of(lists: Lists, y: int) -> tuple[float, ...]:
    """a[:, y], which can be read and not written to."""
    return tuple(row[y] for row in lists)


def over(a: float, b: float) -> float:
    """a/b as IEEE 754 has it."""
    if b != 0.0:
        return a / b
    return math.copysign(math.inf, a) * math.copysign(1.0, b) if a != 0.0 and a == a else math.nan


class _Listed(ast.NodeTransformer):
    """A function on arrays becomes one on lists.

    a[x, y] becomes a[x][y], a[:, y] becomes column_of(a, y), and a.shape becomes shape_of(a), or the lengths that are
    taken of it; the larger of two numbers is found by comparing them, which takes a third of the time of `max`; and
    math.exp(a) becomes math.tick() or math.exp(a), so that it is counted. Names that are added have a point in them,
    `lists.over`, so that no kernel has a variable of the same name.
    """

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """An index of several numbers, one after the other."""
        if _is_shape(node.value) and isinstance(node.slice, ast.Constant):
            return self.visit(_length(node.value.value, node.slice.value))
        self.generic_visit(node)
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        value = node.value
        for place, following in itertools.zip_longest(places, places[1:]):
            if isinstance(place, ast.Slice):
                assert following, f"line {node.lineno}: a kernel takes a column of an array and no other part"
                return _called("lists.column_of", value, following)
            value = ast.Subscript(value, place, ast.Load() if following else node.ctx)
        return value

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """n, m = a.shape."""
        if _is_shape(node.value) and isinstance(node.targets[0], ast.Tuple):
            lengths = [_length(node.value.value, depth) for depth in range(len(node.targets[0].elts))]
            node.value = ast.Tuple(lengths, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Any other shape."""
        self.generic_visit(node)
        return _called("lists.shape_of", node.value) if _is_shape(node) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """The larger or smaller of two numbers, max(a, b) being b if b > a and else a; and what is counted."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in COUNTED:
            tick = ast.Call(ast.Attribute(node.func.value, "tick", ast.Load()), [], [])
            return ast.BoolOp(ast.Or(), [tick, node])
        name = getattr(node.func, "id", "")
        if name not in COMPARISONS or len(node.args) != 2:
            return node
        (first, again_first), (second, again_second) = (self._kept(each) for each in node.args)
        return ast.IfExp(ast.Compare(second, [COMPARISONS[name]], [first]), again_second, again_first)

    def _kept(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """An expression, and how its value is taken again."""
        if isinstance(node, ast.Name | ast.Constant):
            return node, node
        self._count += 1
        name = f"lists.{self._count}"
        return ast.NamedExpr(ast.Name(name, ast.Store()), node), ast.Name(name, ast.Load())

    _count = 0


class _Careful(_Listed):
    """a/b becomes over(a, b) as well."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """A quotient."""
        self.generic_visit(node)
        return _called("lists.over", node.left, node.right) if isinstance(node.op, ast.Div) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """a /= b."""
        if not isinstance(node.op, ast.Div):
            return self.generic_visit(node)
        value = copy.deepcopy(node.target)
        value.ctx = ast.Load()
        return self.visit(ast.Assign([node.target], ast.BinOp(value, node.op, node.value), lineno=node.lineno))


COMPARISONS = {"max": ast.Gt(), "min": ast.Lt()}

COUNTED = ("exp", "log", "log1p")
"""Functions of `math` whose calls measure the work; `math.tick()` is 0, or raises StopIteration after too many."""


def _is_shape(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _length(array: ast.expr, depth: Any) -> ast.expr:
    """How long a list in so many lists is."""
    for _ in range(depth):
        array = ast.Subscript(array, ast.Constant(0), ast.Load())
    return _called("len", array)


def _called(name: str, *arguments: Any) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
