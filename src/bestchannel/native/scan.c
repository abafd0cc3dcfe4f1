/* Rows of delimited text to numbers: the inner loop of `counts.text_log`. The only names are the bytes of the text, which has
   no NUL, so that keys with one after each cell are never ambiguous. */
#include "kernel.h"

enum { MORE, ODD, FULL, PAUSED };  /* more text is required; the next row is for the caller; no room for a key, for a row */
enum { SKIPPED, KEY, COUNT };      /* what a column is for */
enum { N_KEYS, POOL_USED, LINE };  /* where `state` has the number of keys, the used bytes of the pool, and the line */
enum { MOST_DIGITS = 15 };

/* A text up to `stop`, and how it is delimited; quote is 0 where there are none. */
typedef struct { const uint8_t *text; Size stop; uint8_t delimiter, quote; } Text;

/* A row's cells: where each begins and ends, and what it is for. */
typedef struct { Size width; const int8_t *roles; int64_t *begins, *ends; } Cells;

/* The keys that were met: `slots` of hashed numbers, and key number `code` is pool[starts[code] : starts[code + 1]]. */
typedef struct {
    Size n_slots, pool_size;
    int32_t *slots;
    uint64_t *hashes;
    int64_t *starts, *lines, *state;
    uint8_t *pool;
} Keys;

static inline int ends_line(uint8_t letter) { return letter == '\n' || letter == '\r'; }

static inline int ends_cell(const Text *t, Size i) { return t->text[i] == t->delimiter || ends_line(t->text[i]); }

/* Where the cell that starts at i ends, or -1 if it is quoted and needs more thought: a line end between quotes, of which
   doubled ones are text, or text after the closing one. */
static Size end_of_cell(const Text *t, Size i) {
    int quoted = i < t->stop && t->quote && t->text[i] == t->quote;
    if (!quoted) {
        while (i < t->stop && !ends_cell(t, i)) i++;
        return i;
    }
    for (i++; i < t->stop && !ends_line(t->text[i]); i++)
        if (t->text[i] == t->quote && (++i >= t->stop || t->text[i] != t->quote))
            return i < t->stop && !ends_cell(t, i) ? -1 : i;
    return i < t->stop ? -1 : t->stop;
}

/* Whether there is nothing but delimiters, quotes, spaces and control characters. */
static int is_blank(const Text *t, Size first, Size last) {
    while (first < last && (t->text[first] <= ' ' || t->text[first] == t->delimiter || t->text[first] == t->quote))
        first++;
    return first == last;
}

/* Whether a cell may have other signs in it that divide as spaces do: tabs, or the first byte of one in UTF-8. */
static int may_be_divided(const Text *t, Size first, Size last) {
    for (; first < last; first++) {
        uint8_t letter = t->text[first];
        if (letter < ' ' || letter == 0xC2 || (0xE1 <= letter && letter <= 0xE3)) return 1;
    }
    return 0;
}

/* The number of cells of the row at i, and where it ends; -1 cells if it is to be judged by the caller. Where spaces
   divide, those at the end of a line are no cell. */
static Size split_row(const Text *t, Size i, const Cells *cells, Size *end) {
    for (Size count = 0;; i = *end + 1) {
        while (i < t->stop && t->text[i] == ' ') i++;
        *end = end_of_cell(t, i);
        if (*end < 0) return -1;
        if (t->delimiter == ' ' && *end == i) return count;
        if (t->delimiter == ' ' && may_be_divided(t, i, *end)) return -1;
        if (count < cells->width) cells->begins[count] = i, cells->ends[count] = *end;
        count++;
        if (*end >= t->stop || t->text[*end] != t->delimiter) return count;
    }
}

/* Where the next row starts, or -1 if that is not known before there is more text. */
static Size after_line_end(const Text *t, Size i, int final) {
    if (i >= t->stop || (t->text[i] == '\r' && i + 1 >= t->stop)) return final ? t->stop : -1;
    return t->text[i] == '\r' && t->text[i + 1] == '\n' ? i + 2 : i + 1;
}

/* The digits as a number, or -1 if they are not just a few digits, perhaps in quotes or with a zero fraction. */
static int64_t whole_number(const Text *t, Size first, Size last) {
    int64_t value = 0;
    if (last - first > 2 && t->text[first] == t->quote && t->text[last - 1] == t->quote) first++, last--;
    if (last - first > 2 && t->text[last - 2] == '.' && t->text[last - 1] == '0') last -= 2;
    if (first == last || last - first > MOST_DIGITS) return -1;
    for (Size i = first; i < last; i++) {
        if (t->text[i] < '0' || t->text[i] > '9') return -1;
        value = 10 * value + (t->text[i] - '0');
    }
    return value;
}

static inline Size first_slot(uint64_t h, Size n_slots) { return (Size)((h ^ h >> 32) & (uint64_t)(n_slots - 1)); }

/* The number of the key, a new one if it is new, or -1 if there is no room for it. It is written to the end of the pool,
   a NUL after each of its cells, hashed there by FNV-1a, and stays there if it is new. */
static Size code_of_key(const Text *t, const Cells *cells, const Keys *keys) {
    uint8_t *key = keys->pool + keys->state[POOL_USED], *end = key;
    uint64_t h = 14695981039346656037u;
    Size size = 0, slot, code;
    FOR(column, cells->width) if (cells->roles[column] == KEY) size += cells->ends[column] - cells->begins[column] + 1;
    if (keys->state[POOL_USED] + size > keys->pool_size) return -1;
    FOR(column, cells->width)
        if (cells->roles[column] == KEY) {
            for (Size i = cells->begins[column]; i < cells->ends[column]; i++) *end++ = t->text[i];
            *end++ = 0;
        }
    FOR(i, size) h = (h ^ key[i]) * 1099511628211u;
    for (slot = first_slot(h, keys->n_slots); (code = keys->slots[slot]) >= 0; slot = (slot + 1) & (keys->n_slots - 1))
        if (keys->hashes[code] == h && keys->starts[code + 1] - keys->starts[code] == size &&
            memcmp(keys->pool + keys->starts[code], key, (size_t)size) == 0)
            return code;
    code = keys->state[N_KEYS];
    if (2 * (code + 1) > keys->n_slots) return -1;
    keys->state[N_KEYS] += 1;
    keys->state[POOL_USED] += size;
    keys->slots[slot] = (int32_t)code, keys->hashes[code] = h, keys->lines[code] = keys->state[LINE];
    keys->starts[code + 1] = keys->state[POOL_USED];
    return code;
}

/* Number the rows of text[start:stop] by their keys: why it ended; `place` has where, and how many rows were numbered.
   Row i has the key codes[i] and the count counts[i], of up to `most` rows. An empty line is passed over. Columns are
   `width` with roles [column]; begins and ends [column] are work space. There are n_slots, a power of 2, half as many
   hashes and lines, one more of starts, and pool_size bytes. */
BC_EXPORT Size BC(scan)(const uint8_t *text, Size start, Size stop, Size final, Size delimiter, Size quote, Size width,
                        const int8_t *roles, int64_t *begins, int64_t *ends, Size n_slots, int32_t *slots,
                        uint64_t *hashes, int64_t *starts, Size pool_size, uint8_t *pool, int64_t *lines,
                        int64_t *state, Size most, int32_t *codes, int64_t *counts, int64_t *place) {
    Text t = {text, stop, (uint8_t)delimiter, (uint8_t)quote};
    Cells cells = {width, roles, begins, ends};
    Keys keys = {n_slots, pool_size, slots, hashes, starts, lines, state, pool};
    Size rows = 0, why = MORE;
    while (start < stop) {
        Size end, following, code, n_cells;
        why = PAUSED;
        if (rows == most) break;
        n_cells = split_row(&t, start, &cells, &end);
        why = ODD;
        if (n_cells < 0) break;
        following = after_line_end(&t, end, final != 0);
        why = MORE;
        if (following < 0) break;
        if (end != start) {
            why = ODD;
            if (n_cells != width || is_blank(&t, start, end)) break;
            counts[rows] = 1;
            FOR(column, width)
                if (roles[column] == COUNT) counts[rows] = whole_number(&t, begins[column], ends[column]);
            if (counts[rows] < 0) break;
            code = code_of_key(&t, &cells, &keys);
            why = FULL;
            if (code < 0) break;
            codes[rows++] = (int32_t)code;
        }
        why = MORE;
        start = following, state[LINE] += 1;
    }
    place[0] = start, place[1] = rows;
    return why;
}

/* Put the first n_keys keys into the empty slots. */
BC_EXPORT void BC(fill_slots)(Size n_slots, int32_t *slots, const uint64_t *hashes, Size n_keys) {
    FOR(code, n_keys) {
        Size slot = first_slot(hashes[code], n_slots);
        while (slots[slot] >= 0) slot = (slot + 1) & (n_slots - 1);
        slots[slot] = (int32_t)code;
    }
}
