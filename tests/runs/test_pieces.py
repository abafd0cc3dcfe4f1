"""Answers in pieces: each is on disk once it is acknowledged, counts once, and the order of arrival changes nothing."""

import os
import random
import sqlite3

import numpy as np
import pytest

from bestchannel import Adaptive, InputError, Simulator, runs
from bestchannel.channels import bsc
from bestchannel.policies.transcript import as_document
from bestchannel.runs import AnswerPiece
from tests.runs.steady import RIGHT, WRONG

FIRST = [
    AnswerPiece("a", 0, 0, (1, 0)),
    AnswerPiece("b", 0, 1, (0, 1)),
    AnswerPiece("c", 1, 0, (0, 1)),
    AnswerPiece("d", 1, 1, (1, 0)),
]
"""The answer {0: RIGHT, 1: WRONG} to a request of `Steady`, piece by piece."""


def told(path, number, *pieces):
    with runs.open_run(path) as run:
        return run.tell_pieces(number, pieces)


def pieces_of(request, counts, rng):
    """The answer cut up at random, in random order."""
    pieces = []
    for channel, table in counts.items():
        for x, row in enumerate(np.asarray(table).tolist()):
            for y, count in enumerate(row):
                while count:
                    some = rng.randint(1, count)
                    count -= some
                    cells = tuple(some if z == y else 0 for z in range(len(row)))
                    pieces.append(AnswerPiece(f"{request.number}.{len(pieces)}", channel, x, cells))
    rng.shuffle(pieces)
    return pieces


def test_policy_moves_on_with_the_last_piece_and_not_before(lab):
    for piece in FIRST[:3]:
        answer = told(lab, 1, piece)
        assert (answer.repeated, answer.complete) == (False, False)
        assert runs.view(lab).ask().number == 1
    assert runs.view(lab).missing() == {0: (0, 0), 1: (0, 1)}
    assert told(lab, 1, FIRST[3]).complete
    assert runs.view(lab).ask().number == 2
    assert [t.tolist() for t in runs.read_run(lab).audit.steps[0].counts.values()] == [RIGHT.tolist(), WRONG.tolist()]


def test_order_of_arrival_changes_nothing_that_the_policy_sees(tmp_path):
    rng, documents = random.Random(3), []
    for order in range(3):
        path, sensor = tmp_path / f"{order}.db", Simulator({"a": bsc(0.05), "b": bsc(0.3)}, rng=5)
        with runs.begin(path, Adaptive(sensor.alphabets, delta=0.1)) as run:
            while (request := run.ask()) is not None:
                counts = sensor(request)
                if order == 0:
                    run.tell(request.number, counts)
                    continue
                for piece in pieces_of(request, counts, rng):
                    assert run.ask() == request
                    run.tell_pieces(request.number, [piece])
        documents.append(as_document(runs.read_run(path)))
    assert documents[0]["decided"]
    assert documents[1] == documents[0]
    assert documents[2] == documents[0]


def test_repeated_piece_is_harmless_before_and_after_the_answer(lab):
    assert not told(lab, 1, *FIRST[:2]).repeated
    assert told(lab, 1, FIRST[1]).repeated
    assert not told(lab, 1, *FIRST).repeated
    late = told(lab, 1, *FIRST)
    assert (late.repeated, late.complete) == (True, True)
    assert runs.read_run(lab).senses == 4


@pytest.mark.parametrize(
    ("piece", "sentence"),
    [
        (AnswerPiece("a", 0, 0, (0, 1)), "piece 'a' of request 1 was told otherwise before"),
        (AnswerPiece("e", 0, 0, (0, 1)), "of the 1 that were asked for, 0 are missing"),
        (AnswerPiece("e", 0, 1, (1, 1)), "has 2 senses of input x=1 of channel 0; of the 1 .* 1 are missing"),
        (AnswerPiece("e", 2, 0, (0, 1)), "it counts input 0 of channel 2"),
        (AnswerPiece("e", 0, 2, (0, 1)), "it counts input 2 of channel 0"),
        (AnswerPiece("e", 0, -1, (0, 1)), "it counts input -1 of channel 0"),
        (AnswerPiece("e", 0, 1, (0, 1, 0)), "must have 2 counts, one for each output; it has 3"),
        (AnswerPiece("e", 0, 1, (-1, 2)), "must have counts that are whole numbers"),
        (AnswerPiece("e", 0, 1, (0.5, 0.5)), "must have counts that are whole numbers"),
        (AnswerPiece("e", 0, 1, (True, 0)), "must have counts that are whole numbers"),
        (AnswerPiece("e", 0, 1, (0, 0)), "not all 0"),
        (AnswerPiece("", 0, 1, (0, 1)), "must have an identifier"),
        (AnswerPiece("e\n", 0, 1, (0, 1)), "must have an identifier"),
        (AnswerPiece("e" * 201, 0, 1, (0, 1)), "must have an identifier"),
        (AnswerPiece(7, 0, 1, (0, 1)), "must have an identifier"),
    ],
)
def test_piece_that_does_not_fit_is_refused_with_all_that_came_with_it(piece, sentence, lab):
    told(lab, 1, FIRST[0])
    for pieces in ([piece], [FIRST[3], piece]):
        with pytest.raises(InputError, match=sentence):
            told(lab, 1, *pieces)
    assert runs.view(lab).missing() == {0: (0, 1), 1: (1, 1)}


def test_piece_that_comes_after_the_answer_is_refused(lab):
    told(lab, 1, *FIRST)
    with pytest.raises(InputError, match="request 1 was answered before piece 'e' came; request 2 is open"):
        told(lab, 1, AnswerPiece("e", 0, 0, (1, 0)))
    with pytest.raises(InputError, match="request 2 is open; request 3 cannot be answered"):
        told(lab, 3, FIRST[0])


def test_whole_answer_must_contain_the_pieces(lab):
    told(lab, 1, FIRST[0])
    with runs.open_run(lab) as run:
        with pytest.raises(InputError, match="must contain what was told of it in pieces"):
            run.tell(1, {0: WRONG, 1: WRONG})
        assert not run.tell(1, {0: RIGHT, 1: WRONG}).repeated


def test_pieces_of_one_call_are_there_together_or_not_at_all(lab):
    execute = sqlite3.connect(lab)
    entries = execute.execute("SELECT count(*) FROM log").fetchone()[0]
    told(lab, 1, *FIRST)
    kinds = [kind for (kind,) in execute.execute("SELECT kind FROM log WHERE number > ? ORDER BY number", (entries,))]
    execute.close()
    assert kinds == ["pieces", "told", "asked"]


def test_acknowledged_piece_survives_the_death_of_its_writer(lab):
    pid = os.fork()
    if pid == 0:
        try:
            with runs.open_run(lab) as run:
                run.tell_pieces(1, FIRST[:2])
                run.tell_pieces(1, FIRST[2:3])
                os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert told(lab, 1, *FIRST[:3]).repeated
    assert told(lab, 1, FIRST[3]).complete
