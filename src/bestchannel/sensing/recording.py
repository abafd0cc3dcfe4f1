"""Senses that were recorded before."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import add

import numpy as np

from bestchannel.arrays import ChannelLabels, Integers, numeric_array
from bestchannel.counts.data_files import Paths, read_trials
from bestchannel.counts.frames import is_frame, log_of_frame
from bestchannel.counts.joint_trials import JointTrials
from bestchannel.counts.labelled_counts import Columns, Combinations, Trials
from bestchannel.counts.quantisation import SET_ASIDE, Bins
from bestchannel.errors import InputError
from bestchannel.policies import OutOfSensesError, Request
from bestchannel.policies.identify import channels_in_brief
from bestchannel.policies.policy import MOST_CELLS, checked_alphabets
from bestchannel.policies.request import told
from bestchannel.process import Progress
from bestchannel.promises import several


class Recording:
    """Senses that were recorded before: the trials of each input in their order, none twice.

    Called with a `Request` it returns a mapping from channel numbers to counts of shape (n_inputs, n_outputs), or
    raises `OutOfSensesError` and uses no trial.

    Parameters
    ----------
    trials
        A mapping from names to pairs (x, y) of whole numbers in the order in which they were recorded, or a sequence
        of such; a data frame (pandas, polars, pyarrow) with the columns x, y and perhaps channel; what `read_trials`
        gives.
    alphabets
        (n_inputs, n_outputs) of each channel, where pairs may not show every letter.
    outputs
        The labels of the outputs, where a frame may not show every one.

    Attributes
    ----------
    trials
        All trials, used or not, as `read_trials` gives them.
    parties
        What every channel and its letters are called.
    inferred_outputs
        Whether the outputs are only those that happened to be recorded, which a guarantee then says.

    Raises
    ------
    InputError
        Where the trials are no pairs, or do not fit what is declared.

    Examples
    --------
    >>> recording = Recording({"link": [(0, 0), (1, 1), (0, 1)]})
    >>> recording(Request(1, {0: (2, 1)}))[0].tolist()
    [[1, 1], [0, 1]]
    """

    def __init__(
        self,
        trials: object,
        *,
        alphabets: Sequence[tuple[int, int]] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        if isinstance(trials, Sequence | np.ndarray):
            trials = dict(enumerate(trials))
        if alphabets is not None and not isinstance(trials, Mapping):
            raise InputError("alphabets belongs to pairs of numbers; these trials have labels, so declare outputs=")
        if outputs is not None and not is_frame(trials):
            raise InputError(
                "outputs belongs to a data frame; pairs of numbers have alphabets=, a file is read with it"
            )
        log = _of_pairs(trials, alphabets) if isinstance(trials, Mapping) else _of_labels(trials, outputs)
        self.trials = log
        self.parties = list(log.alphabets)
        self.inferred_outputs = log.inferred_outputs
        self._outputs = log.outputs
        self._used = [[0] * len(rows) for rows in self._outputs]

    def __repr__(self) -> str:
        left = sum(map(sum, self.left))
        return f"<Recording of {channels_in_brief(self.parties)}, {several(left, 'trial')} left>"

    @classmethod
    def from_file(
        cls,
        path: Paths,
        *,
        outputs: Sequence[str] | None = None,
        columns: Columns = None,
        bins: Bins = None,
        set_aside: float = SET_ASIDE,
        form: str | None = None,
        transpose: bool = False,
        progress: Progress | None = None,
    ) -> Recording:
        r"""The recording in a file.

        Parameters
        ----------
        path, outputs, columns, bins, set_aside, form, transpose, progress
            As in `read_trials`.

        Returns
        -------
        Recording
            At its beginning.

        Raises
        ------
        InputError, MissingFileError, MissingExtraError
            As `read_trials`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "log.csv")
        ...     _ = path.write_text("channel,x,y\ncable,0,0\ncable,1,1\n")
        ...     Recording.from_file(path, outputs=["0", "1", "lost"]).alphabets
        [(2, 3)]
        """
        return cls(
            read_trials(
                path,
                outputs=outputs,
                columns=columns,
                bins=bins,
                set_aside=set_aside,
                form=form,
                transpose=transpose,
                progress=progress,
            )
        )

    @property
    def keys(self) -> list[Hashable]:
        """What every channel is called."""
        return [labels.key for labels in self.parties]

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel, as policies take it."""
        return [labels.alphabet for labels in self.parties]

    @property
    def counts(self) -> dict[Hashable, Integers]:
        """counts[x, y] of every channel over all trials, used or not; shape (n_inputs, n_outputs)."""
        return self.trials.counts()

    @property
    def left(self) -> list[list[int]]:
        """How many trials of each input of each channel were not given yet."""
        rows = zip(self._outputs, self._used, strict=True)
        return [[len(outputs) - used for outputs, used in zip(*row, strict=True)] for row in rows]

    def go_on_after(self, counts: Sequence[Integers]) -> None:
        """Skip what a policy was told before, where a recording that has given nothing begins with just that.

        Parameters
        ----------
        counts
            Of every channel, shape (n_inputs, n_outputs).

        Returns
        -------
        None
            A recording that begins otherwise is taken for another one, with trials of its own.

        Examples
        --------
        >>> recording = Recording({"link": [(0, 0), (1, 1), (0, 1)]})
        >>> recording.go_on_after([np.array([[1, 0], [0, 0]])])
        >>> recording.left
        [[1, 1]]
        """
        if not any(map(any, self._used)) and all(map(_begin_with, self._outputs, counts)):
            self._used = [table.sum(axis=1).tolist() for table in counts]

    def __call__(self, request: Request) -> dict[int, Integers]:
        """The next trials of every (channel, input), or `OutOfSensesError` and no trial used."""
        if request.paired is not None:
            raise InputError(
                "a recording of senses of one channel at a time cannot answer shots; give joint trials, or choose the"
                " policy adaptive"
            )
        remaining = self.left
        for channel, senses in request.senses.items():
            for x, (asked, left) in enumerate(zip(senses, remaining[channel], strict=True)):
                if asked > left:
                    labels = self.parties[channel]
                    label = "" if labels.inputs[x] == str(x) else f" ({labels.inputs[x]})"
                    raise OutOfSensesError(
                        f"the recording has {several(left, 'more sense')} of input x={x}{label} of channel"
                        f" {labels.key!r}, and the policy requires {asked:,} ({request.total:,} in this request); the"
                        " policy adaptive requires fewer, and `estimate` uses all that was recorded"
                    )
        return {channel: self._next(channel, senses) for channel, senses in request.senses.items()}

    def _next(self, channel: int, senses: tuple[int, ...]) -> Integers:
        counts = np.zeros(self.parties[channel].alphabet, dtype=np.int64)
        for x, asked in enumerate(senses):
            first = self._used[channel][x]
            taken = self._outputs[channel][x][first : first + asked]
            counts[x] = np.bincount(taken, minlength=counts.shape[1])
            self._used[channel][x] += asked
        return counts


class JointRecording:
    """Trials that all channels answered, recorded before: those of each input in their order, none twice.

    Called with a `Request` for shots it returns counts of pairs of answers, or raises `OutOfSensesError` and uses no
    trial.

    Parameters
    ----------
    trials
        What `read_joint_trials` gives: every trial with one input for all channels, and an answer of each.

    Attributes
    ----------
    parties
        What every channel and its letters are called.
    inferred_outputs
        Whether the outputs are only those that happened to be recorded, which a guarantee then says.

    Raises
    ------
    InputError
        Where channels of a trial have different inputs or an answer is missing, or trials come in groups.

    Examples
    --------
    >>> labels = tuple(ChannelLabels.numbered(name, (2, 2)) for name in "ab")
    >>> x = np.array([[0, 0], [1, 1], [0, 0]])
    >>> recording = JointRecording(JointTrials(labels, x=x, y=np.array([[0, 0], [1, 0], [0, 1]])))
    >>> recording(Request(1, {0: (2, 0), 1: (2, 0)}, paired=0))[1][0].tolist()
    [[1, 1], [0, 0]]
    """

    def __init__(self, trials: JointTrials) -> None:
        inputs = {labels.inputs for labels in trials.alphabets}
        wanted = "shots are trials with one input for all channels, an answer of each, and no groups"
        if (lacking := [name for name, missing in trials.missing.items() if missing]) or trials.groups is not None:
            raise InputError(f"{wanted}; {f'{lacking[0]} lacks answers' if lacking else 'these have groups'}")
        if len(inputs) > 1 or (trials.x != trials.x[:, :1]).any():
            raise InputError(f"{wanted}; in these the inputs of channels differ")
        self.trials, self.parties, self.inferred_outputs = trials, list(trials.alphabets), trials.inferred_outputs
        self._answers = [trials.y[trials.x[:, 0] == x] for x in range(len(self.parties[0].inputs))]
        self._used = [0] * len(self._answers)

    def __repr__(self) -> str:
        left = sum(self.left[0])
        return f"<JointRecording of {channels_in_brief(self.parties)}, {several(left, 'trial')} left>"

    @property
    def keys(self) -> list[Hashable]:
        """What every channel is called."""
        return [labels.key for labels in self.parties]

    @property
    def alphabets(self) -> list[tuple[int, int]]:
        """(n_inputs, n_outputs) of every channel, as policies take it."""
        return [labels.alphabet for labels in self.parties]

    @property
    def left(self) -> list[list[int]]:
        """How many trials of each input of each channel were not given yet: the same of all."""
        each = [len(answers) - used for answers, used in zip(self._answers, self._used, strict=True)]
        return [each for _ in self.parties]

    def go_on_after(self, counts: Sequence[Integers]) -> None:
        """Skip what a policy was told before, where a recording that has given nothing begins with just that.

        Parameters
        ----------
        counts
            Of every channel, shape (n_inputs, n_outputs); channels may have left after some of the trials.

        Returns
        -------
        None
            A recording that begins otherwise is taken for another one, with trials of its own.

        Examples
        --------
        >>> labels = tuple(ChannelLabels.numbered(name, (1, 2)) for name in "ab")
        >>> y = np.array([[0, 0], [1, 0], [0, 1]])
        >>> recording = JointRecording(JointTrials(labels, x=np.zeros((3, 2), int), y=y))
        >>> recording.go_on_after([np.array([[1, 1]]), np.array([[1, 0]])])
        >>> recording.left
        [[1], [1]]
        """
        recorded = ([answers[:, j] for answers in self._answers] for j in range(len(counts)))
        if not any(self._used) and all(map(_begin_with, recorded, counts)):
            self._used = np.max([table.sum(axis=1) for table in counts], axis=0).tolist()

    def __call__(self, request: Request) -> dict[int, Integers]:
        """The next trials of every input, or `OutOfSensesError` and no trial used."""
        b = request.paired
        if b is None:
            raise InputError("joint trials answer shots, of all channels at once; choose the policy joint")
        for x, (asked, left) in enumerate(zip(request.senses[b], self.left[b], strict=True)):
            if asked > left:
                raise OutOfSensesError(
                    f"the recording has {several(left, 'more trial')} of input x={x}, and the policy requires"
                    f" {asked:,}; `estimate --design joint` uses all that was recorded"
                )
        first, self._used = self._used, list(map(add, self._used, request.senses[b]))
        given = [answers[i:end] for answers, i, end in zip(self._answers, first, self._used, strict=True)]
        return told(request, self.alphabets, ((x, {j: y[:, j] for j in request.senses}) for x, y in enumerate(given)))


def _begin_with(recorded: Sequence[Integers], counts: Integers) -> bool:
    """Whether the trials of every input begin with those that were counted."""
    pairs = zip(recorded, counts, strict=True)
    return all(np.array_equal(np.bincount(y[: row.sum()], minlength=len(row)), row) for y, row in pairs)


def _of_labels(trials: object, outputs: Sequence[str] | None) -> Trials:
    if isinstance(trials, Trials):
        return trials
    if is_frame(trials):
        seen = Combinations(outputs)
        return seen.trials(log_of_frame(trials, seen))
    raise InputError(
        f"trials must map channels to pairs (x, y), or be a data frame or a log that was read; they are a"
        f" {type(trials).__name__}"
    )


def _of_pairs(named: Mapping[Hashable, object], alphabets: Sequence[tuple[int, int]] | None) -> Trials:
    if not named:
        raise InputError("a recording requires at least one channel; none was given")
    alphabets = checked_alphabets(alphabets) if alphabets else alphabets
    if alphabets is not None and len(alphabets) != len(named):
        raise InputError(
            f"there must be one alphabet for each channel; there are {len(alphabets)} and"
            f" {several(len(named), 'channel')}"
        )
    labels, sent, received = [], [], []
    for i, (key, log) in enumerate(named.items()):
        pairs = numeric_array(log, f"the trials of channel {key!r}")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or pairs.min() < 0:
            raise InputError(
                f"the trials of channel {key!r} must be pairs (x, y) of whole numbers >= 0; they are {pairs.dtype}"
                f" {pairs.shape}"
            )
        seen = [int(most) + 1 for most in pairs.max(axis=0)]
        n_inputs, n_outputs = alphabets[i] if alphabets is not None else seen
        if seen[0] > n_inputs or seen[1] > n_outputs:
            raise InputError(
                f"the trials of channel {key!r} must fit its alphabet of {several(n_inputs, 'input')} and"
                f" {several(n_outputs, 'output')}; they have input {seen[0] - 1} or output {seen[1] - 1}"
            )
        if n_inputs * n_outputs > MOST_CELLS:
            raise InputError(
                f"the trials of channel {key!r} must be of letters that are numbered from 0 on, at most 2^27 pairs of"
                f" them; they have input {seen[0] - 1} and output {seen[1] - 1}"
            )
        x, y = pairs.T
        labels.append(ChannelLabels.numbered(key, (n_inputs, n_outputs)))
        sent.append(x.astype(np.min_scalar_type(n_inputs - 1)))
        received.append(y.astype(np.min_scalar_type(seen[1] - 1)))
    return Trials(tuple(labels), tuple(sent), tuple(received), alphabets is None, (None,) * len(labels))
