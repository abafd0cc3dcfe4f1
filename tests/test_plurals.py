"""One thing is not called many: wherever a number stands before what it counts, the word is chosen by the number."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import bestchannel

ROOT = Path(bestchannel.__file__).parent
NOUNS = re.compile(
    r" (?:more |other |later |simulated )?(?:senses|channels|others|rounds|requests|runs|trials|answers|pairs)\b"
)
TALKING = ("arrays.py", "cli", "intervals", "policies", "report", "runs", "sensing/recording.py", "service")
NUMBERS_THAT_ARE_LARGE = re.compile(r"[A-Z_]+( // 2)?$|_between|_number|bits\(|ends$|str\(most\)|most$|least$")


def counted(path):
    """Every f-string of a module in which a variable number stands right before one of the nouns."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            for value, following in pairwise(node.values):
                if isinstance(value, ast.FormattedValue) and isinstance(following, ast.Constant):
                    expression = ast.unparse(value.value)
                    if NOUNS.match(following.value) and not NUMBERS_THAT_ARE_LARGE.search(expression):
                        yield f"{path.relative_to(ROOT)}: {expression}{NOUNS.match(following.value)[0]}"


def test_every_word_after_a_number_agrees_with_it():
    modules = [path for place in TALKING for path in (sorted((ROOT / place).rglob("*.py")) or [ROOT / place])]
    assert len(modules) > 50
    assert [place for path in modules for place in counted(path)] == []


def test_a_plural_that_does_not_heed_its_number_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_plurals.ROOT", tmp_path)
    (tmp_path / "module.py").write_text('say(f"{len(left)} channels and {n:,} more senses and {MOST} runs")')
    assert list(counted(tmp_path / "module.py")) == ["module.py: len(left) channels", "module.py: n more senses"]
