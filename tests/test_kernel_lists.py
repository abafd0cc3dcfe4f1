"""Kernels on lists in place of arrays: the same functions, the same digits."""

import ast
import importlib
import inspect
import math
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from bestchannel import kernel_lists, uncompiled
from bestchannel.compiled import REGISTRY, sources
from bestchannel.kernel_copies import KERNELS, Copies
from bestchannel.kernel_lists import NUMPY, as_lists, filled, on_lists, over, put_back, shape_of
from bestchannel.lower_bound import certificate
from bestchannel.uncompiled import Patience


class Pair(NamedTuple):
    rows: np.ndarray
    weight: float


def rows_of(pair, y, out):
    """Everything that a kernel may do with arrays."""
    n, m = pair.rows.shape
    column, total = pair.rows[:, y], np.zeros((n, m))
    for x in range(n):
        row = total[x]
        row[y] = max(pair.rows[x, y], column[x] / 2.0, min(1.0, pair.weight))
        total[x, 0] -= min(row[y], len(column) * 1.0)
        out[x] = total[x, 0] + total.shape[1]
    out[0] /= pair.weight
    return np.empty_like(total).shape, m


def quotients(a, b):
    c = [a, a]
    c[0] /= b
    return c[0], a / b


def powers(a):
    return math.exp(math.log(a) * math.sqrt(4.0))


def overshoots(a, b):
    over, column_of = a / b, a
    over /= max(b, column_of)
    return over


def extremes(a, b):
    return max(a, b), min(a, b), max(a + 0.0, b + 0.0), min(a + 0.0, b + 0.0)


NUMBERS = (0.0, -0.0, 1.0, -2.0, math.nan, math.inf, -math.inf)
PAIRS = [(a, b) for a in NUMBERS for b in NUMBERS]


def listed(function, **options):
    return on_lists(function, {"np": NUMPY, "math": SimpleNamespace(**vars(math), tick=int)}, **options)


def test_function_on_lists_does_what_it_does_on_arrays():
    rows, ours, theirs = np.random.default_rng(1).random((3, 4)), np.zeros(3), np.zeros(3)
    answer = rows_of(Pair(rows, 0.3), 2, ours)
    given = as_lists((Pair(rows, 0.3), 2, theirs))
    assert listed(rows_of)(*given) == answer
    put_back(given, (Pair(rows, 0.3), 2, theirs))
    assert theirs.tolist() == ours.tolist()


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_larger_and_smaller_of_two_are_those_of_python(a, b):
    assert repr(listed(extremes)(a, b)) == repr(extremes(a, b))


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_careful_quotients_are_those_of_compiled_code(a, b):
    with np.errstate(all="ignore"):
        expected = (np.float64(a) / np.float64(b)).item()
    assert repr(over(a, b)) == repr(expected)
    assert repr(listed(quotients, careful=True)(a, b)) == repr((expected, expected))


def test_kernel_may_call_a_variable_as_lists_call_a_function():
    assert listed(overshoots, careful=True)(3.0, 2.0) == overshoots(3.0, 2.0)


def test_kernels_that_run_on_lists_take_no_powers():
    """Compiled, x**2 is x*x; in Python it is pow(x, 2), which may be another number in the last digit."""
    roots = {importlib.import_module(name) for name, each in REGISTRY.items() if each.same_in_python}
    modules = {name for root in roots for name in sources(root.__name__)}
    kernels = [each for each in KERNELS if each.__module__ in modules]
    assert len(kernels) > 50
    for kernel in kernels:
        assert not any(isinstance(node, ast.Pow) for node in ast.walk(ast.parse(inspect.getsource(kernel)))), kernel


def test_logarithms_and_exponentials_are_counted():
    patience = Patience(4)
    counted = on_lists(powers, {"math": SimpleNamespace(**vars(math), tick=patience.left.__next__)})
    assert [(counted(a), patience.used) for a in (1.0, 3.0)] == [(powers(1.0), 0.5), (powers(3.0), 1.0)]
    with pytest.raises(StopIteration):
        counted(1.0)


def test_quotient_by_zero_is_refused_where_nobody_asked_for_care():
    with pytest.raises(ZeroDivisionError):
        listed(quotients)(1.0, 0.0)


def test_column_can_be_read_and_not_written_to():
    column = kernel_lists.column_of([[1.0, 2.0], [3.0, 4.0]], 1)
    assert column == (2.0, 4.0)
    with pytest.raises(TypeError):
        column[0] = 1.0


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (0,), (0, 3), (2, 0), (0, 2, 5)])
def test_lists_have_the_shape_of_their_array(shape):
    lists = as_lists(np.zeros(shape))
    for each in (lists, filled(shape), NUMPY.empty_like(lists)):
        assert len(each) == shape[0]
        assert shape_of(each) == shape


def test_what_was_written_to_lists_is_put_into_arrays_that_can_be_written_to():
    free, fixed = np.zeros((2, 2)), np.zeros(2)
    fixed.flags.writeable = False
    given = as_lists((free, Pair(fixed, 1.0)))
    given[0][1][0] = given[1].rows[0] = 5.0
    put_back(given, (free, Pair(fixed, 1.0)))
    assert (free.tolist(), fixed.tolist()) == ([[0.0, 0.0], [5.0, 0.0]], [0.0, 0.0])


def nothing_compiled():
    raise AssertionError("Python was to do it")


def test_kernel_that_divides_by_zero_goes_on_in_python_to_the_same_digits():
    W, w = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]), np.array([0.5, 0.5])
    curves = []
    for tree in (
        uncompiled.in_python(certificate.kernels.module, Patience(10**9), nothing_compiled),
        certificate.kernels.load(),
    ):
        curves.append(tree.new_curve(tree.new_side(W, w), np.geomspace(1e-4, 10.0, 12)))
        tree.fill_curve(curves[-1], W.copy(), w.copy(), 100, 1e-6)
    for ours, theirs in zip(curves[0][1:], curves[1][1:], strict=True):
        assert ours.tolist() == theirs.tolist()


def test_threads_that_need_a_copy_at_once_all_get_a_finished_one():
    def slowly_bound(_function, _bound):
        time.sleep(1e-3)
        return "bound"

    copies = Copies(slowly_bound)
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: copies.of(certificate.kernels.module).certify, range(4))
        assert list(found) == ["bound"] * 4
