"""Named once: no two modules with one base name, no two classes with one name."""

import ast
from collections import Counter
from pathlib import Path

import bestchannel

SOURCE = Path(bestchannel.__file__).parent


def base_names(source):
    """Of every module and of every package."""
    modules = [path.stem for path in source.rglob("*.py") if path.stem not in ("__init__", "__main__")]
    return modules + [path.parent.name for path in source.rglob("__init__.py") if path.parent != source]


def class_names(source):
    """Of every class, also of private ones, without the underscore."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in source.rglob("*.py")]
    return [node.name.lstrip("_") for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def twice(names):
    return sorted(name for name, count in Counter(names).items() if count > 1)


def test_no_base_name_is_used_twice():
    assert twice(base_names(SOURCE)) == []


def test_no_class_name_is_used_twice():
    assert twice(class_names(SOURCE)) == []


def test_a_name_that_is_used_twice_is_noticed(tmp_path):
    for path, text in {"a/__init__.py": "", "a/x.py": "class C: ...", "a.py": "class _C: ...", "b/x.py": ""}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert twice(base_names(tmp_path)) == ["a", "x"]
    assert twice(class_names(tmp_path)) == ["C"]
