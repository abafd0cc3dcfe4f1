# mypy: ignore-errors
"""Rows of delimited text to numbers, compiled: the inner loop of `counts/scan`."""

import numpy as np

from bestchannel.compiled import inlined, jit

MORE, ODD, FULL, PAUSED = 0, 1, 2, 3
"""Why a scan ended: it requires more text, the next row is for the caller to judge, no room for a key, or for a row."""

SKIPPED, KEY, COUNT = 0, 1, 2
"""What a column is for."""

N_KEYS, POOL_USED, LINE = 0, 1, 2
"""Where `state` has the number of keys, the used bytes of the pool, and the line at which the next row starts."""

SPACE, LF, CR, POINT, ZERO = 32, 10, 13, 46, 48
MOST_DIGITS = 15


@inlined
def after_quotes(text, i, stop, quote):
    """Where the quotes around the text at i end, doubled ones being text; -1 if a line end comes first."""
    while i < stop and text[i] != LF and text[i] != CR:
        if text[i] == quote:
            if i + 1 >= stop or text[i + 1] != quote:
                return i + 1
            i += 1
        i += 1
    return -1 if i < stop else stop


@inlined
def end_of_cell(text, i, stop, delimiter, quote):
    """Where the cell that starts at i ends, or -1 if it is quoted and needs more thought."""
    if i < stop and quote and text[i] == quote:
        i = after_quotes(text, i + 1, stop, quote)
        if i < 0 or (i < stop and text[i] != delimiter and text[i] != LF and text[i] != CR):
            return -1  # a line end between quotes, or text after the closing one
        return i
    while i < stop and text[i] != delimiter and text[i] != LF and text[i] != CR:
        i += 1
    return i


@inlined
def is_blank(text, first, last, delimiter, quote):
    """Whether there is nothing but delimiters, quotes, spaces and control characters."""
    i = first
    while i < last and (text[i] <= SPACE or text[i] == delimiter or text[i] == quote):
        i += 1
    return i == last


@inlined
def split_row(text, i, stop, delimiter, quote, begins, ends):
    """The number of cells of the row at i and where it ends; -1 cells if it is to be judged by the caller."""
    n_cells = 0
    while True:
        while i < stop and text[i] == SPACE:
            i += 1
        end = end_of_cell(text, i, stop, delimiter, quote)
        if end < 0:
            return -1, i
        if n_cells < len(begins):
            begins[n_cells], ends[n_cells] = i, end
        n_cells += 1
        if end >= stop or text[end] != delimiter:
            return n_cells, end
        i = end + 1


@inlined
def after_line_end(text, i, stop, final):
    """Where the next row starts, or -1 if that is not known before there is more text."""
    if i >= stop or (text[i] == CR and i + 1 >= stop):
        return stop if final else -1
    if text[i] == CR and text[i + 1] == LF:
        return i + 2
    return i + 1


@inlined
def whole_number(text, first, last, quote):
    """The digits as a number, or -1 if they are not just a few digits, perhaps in quotes or with a zero fraction."""
    if last - first > 2 and text[first] == quote and text[last - 1] == quote:
        first, last = first + 1, last - 1
    if last - first > 2 and text[last - 2] == POINT and text[last - 1] == ZERO:
        last -= 2
    if first == last or last - first > MOST_DIGITS:
        return -1
    value = 0
    for i in range(first, last):
        digit = np.int64(text[i]) - ZERO
        if digit < 0 or digit > 9:
            return -1
        value = 10 * value + digit
    return value


@inlined
def hash_of_key(text, roles, begins, ends):
    """FNV-1a over the cells that make the key, and the bytes that these take with a separator after each."""
    h, size = np.uint64(14695981039346656037), 0
    prime = np.uint64(1099511628211)
    for column in range(len(roles)):
        if roles[column] == KEY:
            for i in range(begins[column], ends[column]):
                h = (h ^ np.uint64(text[i])) * prime
            h = (h ^ np.uint64(0)) * prime
            size += ends[column] - begins[column] + 1
    return h, size


@inlined
def is_key(text, roles, begins, ends, pool, at):
    """Whether the pool has this key at `at`."""
    for column in range(len(roles)):
        if roles[column] == KEY:
            for i in range(begins[column], ends[column]):
                if pool[at] != text[i]:
                    return False
                at += 1
            if pool[at] != 0:
                return False
            at += 1
    return True


@inlined
def add_key(text, roles, begins, ends, pool, at):
    """Write the key into the pool, its cells with a NUL after each."""
    for column in range(len(roles)):
        if roles[column] == KEY:
            for i in range(begins[column], ends[column]):
                pool[at] = text[i]
                at += 1
            pool[at] = 0
            at += 1


@inlined
def code_of_key(text, roles, begins, ends, slots, hashes, starts, pool, lines, state):
    """The number of the key, a new one if it is new, or -1 if there is no room for it."""
    h, size = hash_of_key(text, roles, begins, ends)
    mask = np.uint64(len(slots) - 1)
    slot = (h ^ (h >> np.uint64(32))) & mask
    while slots[slot] >= 0:
        code = slots[slot]
        same_size = starts[code + 1] - starts[code] == size
        if hashes[code] == h and same_size and is_key(text, roles, begins, ends, pool, starts[code]):
            return code
        slot = (slot + np.uint64(1)) & mask
    code = state[N_KEYS]
    if 2 * (code + 1) > len(slots) or state[POOL_USED] + size > len(pool):
        return -1
    add_key(text, roles, begins, ends, pool, state[POOL_USED])
    state[N_KEYS] += 1
    state[POOL_USED] += size
    slots[slot], hashes[code], lines[code], starts[code + 1] = code, h, state[LINE], state[POOL_USED]
    return code


@jit
def scan(text, start, stop, final, delimiter, quote, roles, slots, hashes, starts, pool, lines, state, codes, counts):
    """Number the rows of text[start:stop] by their keys: why it ended, where, and how many rows were numbered.

    Row i has the key codes[i] and the count counts[i]. An empty line is passed over. The text
    has no NUL, so keys with one after each cell are never ambiguous.
    """
    begins = np.zeros(len(roles), np.int64)
    ends = np.zeros(len(roles), np.int64)
    n_rows = 0
    while start < stop:
        if n_rows == len(codes):
            return PAUSED, start, n_rows
        n_cells, end = split_row(text, start, stop, delimiter, quote, begins, ends)
        if n_cells < 0:
            return ODD, start, n_rows
        following = after_line_end(text, end, stop, final)
        if following < 0:
            return MORE, start, n_rows
        if end == start:
            start, state[LINE] = following, state[LINE] + 1
            continue
        if n_cells != len(roles) or is_blank(text, start, end, delimiter, quote):
            return ODD, start, n_rows
        counts[n_rows] = 1
        for column in range(len(roles)):
            if roles[column] == COUNT:
                counts[n_rows] = whole_number(text, begins[column], ends[column], quote)
        if counts[n_rows] < 0:
            return ODD, start, n_rows
        code = code_of_key(text, roles, begins, ends, slots, hashes, starts, pool, lines, state)
        if code < 0:
            return FULL, start, n_rows
        codes[n_rows] = code
        n_rows += 1
        start, state[LINE] = following, state[LINE] + 1
    return MORE, start, n_rows


@jit
def fill_slots(slots, hashes, n_keys):
    """Put the first n_keys keys into the empty slots."""
    mask = np.uint64(len(slots) - 1)
    for code in range(n_keys):
        slot = (hashes[code] ^ (hashes[code] >> np.uint64(32))) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = code


def warm_up():
    """Call every entry once."""
    slots, hashes, numbers = np.full(2, -1, np.int32), np.zeros(1, np.uint64), np.zeros(3, np.int64)
    text, roles, codes = np.zeros(1, np.uint8), np.ones(1, np.int8), np.empty(1, np.int32)
    scan(text, 0, 0, True, 0, 0, roles, slots, hashes, numbers, text, numbers, numbers, codes, numbers)
    fill_slots(slots, hashes, 0)
