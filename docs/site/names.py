"""The reference: every public name from its docstring, and links to it from wherever a page names it in `code`."""

import importlib
import inspect
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, get_origin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

ROOT = "bestchannel"
MODULES = ("channels", "policies", "sensing", "runs", "service", "study.monte_carlo", "testing", "errors")
"""Modules whose names are documented, and are meant by their bare names too."""

MODULES_IN_EXAMPLES = {"bc", "runs"}
"""What examples call the modules."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", escape)
    app.connect("autodoc-process-bases", keep_public_bases)
    app.add_post_transform(LinkNames)
    app.connect("html-page-context", link_examples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Names(SphinxDirective):
    """The listed names of a module, one in each line; without a list, all that `bestchannel` itself does not have."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """What stands in the page in place of the list."""
        module = importlib.import_module(self.arguments[0])
        names = list(self.content) or [name for name in public_names(module) if not on_top(module, name)]
        for name in names:
            if not hasattr(module, name):
                raise self.error(f"{module.__name__} has no {name}")
        lines = [line for name in names for line in described(module, name)]
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def described(module: ModuleType, name: str) -> list[str]:
    """What autodoc is to do for one name."""
    value = getattr(module, name)
    derived = inspect.isclass(value) and any(map(is_public, value.__bases__))
    option = "   :show-inheritance:" if derived else "   :no-value:" if kind_of(value) == "data" else ""
    return [f".. auto{kind_of(value)}:: {module.__name__}.{name}", option, ""]


def keep_public_bases(app: Sphinx, name: str, value: type, options: Any, bases: list[Any]) -> None:
    """Of the bases of a class, those that a reader can know."""
    bases[:] = filter(is_public, bases)


def is_public(base: type) -> bool:
    """Whether a class is an exception, or one that is described here."""
    modules = [sys.modules.get(name) for name in (ROOT, *(f"{ROOT}.{module}" for module in MODULES))]
    base = get_origin(base) or base  # of Bracket[float], Bracket
    return issubclass(base, BaseException) or any(getattr(module, base.__name__, None) is base for module in modules)


def public_names(module: ModuleType) -> list[str]:
    """`__all__`, or what the module itself defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return list(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def on_top(module: ModuleType, name: str) -> bool:
    """Whether `bestchannel` itself has the thing, and so documents it."""
    top = importlib.import_module(ROOT)
    return module is not top and name in top.__all__ and getattr(top, name) is getattr(module, name)


def kind_of(value: Any) -> str:
    """What autodoc calls it."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    return "function" if inspect.isroutine(value) else "data"


def escape(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Bars and trailing underscores are mathematics in our docstrings, and markup in reStructuredText."""
    if what == "data":
        lines[:] = below_definition(name.rpartition(".")[2], value)
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "..")):
            parts = re.split(r"(`[^`]*`)", line)
            parts[::2] = [re.sub(r"(\||(?<=\w)_(?!\w))", r"\\\1", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def below_definition(name: str, value: Any) -> list[str]:
    """What is said of a constant or a type in the module that defines it; its own docstring is that of its class."""
    for module in [key for key in sys.modules if key.startswith(f"{ROOT}.")]:
        if vars(sys.modules[module]).get(name) is value:
            said = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name))
            if said:
                return list(said)
    return []


class LinkNames(SphinxPostTransform):
    """Code that is a documented name becomes a link to it."""

    default_priority = 20

    def run(self, **_: object) -> None:
        """Called by Sphinx for every page."""
        known = self.env.domains.python_domain.objects
        for code in list(self.document.findall(nodes.literal)):
            target = meant(code.astext(), known, prose=not self.env.docname.startswith("reference/"))
            if target and not isinstance(code.parent, nodes.reference):
                page, anchor = known[target].docname, known[target].node_id
                link = make_refnode(self.app.builder, self.env.docname, page, anchor, code.deepcopy(), target)
                code.replace_self(link)


def meant(code: str, known: Mapping[str, ObjectEntry], *, prose: bool) -> str | None:
    """The documented name that a piece of code is; in prose, `estimate` alone is a verb of the command line."""
    bare = re.sub(r"\(.*\)$", "", code)
    if not re.fullmatch(r"[A-Za-z]\w*(\.\w+)*", bare) or (prose and re.fullmatch("[a-z]+", bare)):
        return None
    bare = bare.removeprefix("bc.").removeprefix(f"{ROOT}.")
    places = (f"{ROOT}.{place}{bare}" for place in ("", *(f"{module}." for module in MODULES)))
    return next((name for name in places if name in known), None)


ATTRIBUTE = re.compile(r'<span class="n">(\w+)</span><span class="o">\.</span><span class="n">(\w+)</span>')
"""`bc.estimate` in a highlighted example."""


def link_examples(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document) -> None:
    """The names that the examples of a page use become links as well."""
    known = app.env.domains.python_domain.objects

    def linked(found: re.Match[str]) -> str:
        target = meant(f"{found[1]}.{found[2]}", known, prose=True) if found[1] in MODULES_IN_EXAMPLES else None
        if target is None:
            return found[0]
        address = app.builder.get_relative_uri(page, known[target].docname)
        return f'<a href="{address}#{known[target].node_id}" title="{target}">{found[0]}</a>'

    context["body"] = ATTRIBUTE.sub(linked, context.get("body", ""))
