"""Every public name says what it is: parameters, what is returned, what is raised, and an example that runs.

The examples themselves are run with the doctests of the package.
"""

import dataclasses
import inspect
import re

import pytest

import bestchannel as bc
from bestchannel import testing

SECTION = re.compile(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
NAMES = {name: getattr(module, name) for module in (bc, testing) for name in module.__all__ if not name.isupper()}


def methods():
    """The public methods of the public classes, bound ones where they belong to the class."""
    for name, kind in NAMES.items():
        if inspect.isclass(kind) and not issubclass(kind, Exception):
            for method, value in inspect.getmembers(kind, inspect.isroutine):
                if not method.startswith("_"):
                    yield f"{name}.{method}", value


CALLABLES = {
    **{name: value for name, value in NAMES.items() if not (inspect.isclass(value) and issubclass(value, Exception))},
    **dict(methods()),
}
PROPERTIES = {
    f"{name}.{attribute}": value
    for name, kind in NAMES.items()
    if inspect.isclass(kind)
    for attribute, value in inspect.getmembers(kind, lambda member: isinstance(member, property))
}


def sections(value):
    """The sections of a docstring by their heading."""
    return dict(SECTION.findall(inspect.getdoc(value) or ""))


def described(body):
    """The names at the beginning of the lines of a section that are not indented."""
    return {name.strip() for line in re.findall(r"^(\S.*)$", body, re.MULTILINE) for name in line.split(",")}


def parameters(value):
    if getattr(value, "_is_protocol", False):  # which nobody makes
        return set()
    return {name for name in inspect.signature(value).parameters if name != "self"}


def faults(value):
    """What the docstring lacks."""
    found = sections(value)
    first = (inspect.getdoc(value) or "").partition("\n")[0]
    known = described(found.get("Parameters", "")) | described(found.get("Attributes", ""))
    lacking = sorted(parameters(value) - known)
    return [
        *([] if re.search(r"[.:]$", first) else ["a first line that is a sentence"]),
        *(f"parameter {name}" for name in lacking),
        *(f"no parameter {name}" for name in sorted(described(found.get("Parameters", "")) - parameters(value))),
        *([] if ">>> " in found.get("Examples", "") else ["an example"]),
        *([] if inspect.isclass(value) or {"Returns", "Raises"} & found.keys() else ["what is returned or raised"]),
    ]


@pytest.mark.parametrize("name", CALLABLES)
def test_docstring_describes_every_parameter_and_has_an_example(name):
    assert faults(CALLABLES[name]) == []


@pytest.mark.parametrize("name", [name for name, value in NAMES.items() if inspect.isfunction(value)])
def test_function_says_what_it_returns_and_raises(name):
    returns = set() if NAMES[name].__annotations__["return"] == "None" else {"Returns"}
    assert {"Parameters", "Raises", "Examples"} | returns <= sections(NAMES[name]).keys()


@pytest.mark.parametrize("name", [name for name, value in NAMES.items() if dataclasses.is_dataclass(value)])
def test_class_of_results_describes_every_field(name):
    found = sections(NAMES[name])
    known = described(found.get("Attributes", "")) | described(found.get("Parameters", ""))
    assert {field.name for field in dataclasses.fields(NAMES[name])} <= known


@pytest.mark.parametrize("name", PROPERTIES)
def test_property_has_a_definition_of_its_own(name):
    text = inspect.getdoc(PROPERTIES[name])
    assert text
    assert not text.startswith("See ")


@pytest.mark.parametrize("name", ["BestChannelError", "InputError"])
def test_error_has_an_example(name):
    assert ">>> " in sections(NAMES[name])["Examples"]


def test_the_check_sees_what_is_missing():
    def good(x, tol=1.0):
        """What it is.

        Parameters
        ----------
        x, tol
            Numbers.

        Returns
        -------
        float
            A number.

        Examples
        --------
        >>> 1
        1
        """

    def bad(x, tol=1.0):
        """What it is

        Parameters
        ----------
        x, eta
            Numbers.
        """

    assert faults(good) == []
    assert faults(bad) == [
        "a first line that is a sentence",
        "parameter tol",
        "no parameter eta",
        "an example",
        "what is returned or raised",
    ]
