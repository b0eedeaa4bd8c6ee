/* SPDX-License-Identifier: BSD-2-Clause */
#include "rows.h"

#include "common/half.h"
#include "common/rows.h"

#include <ferry/status.h>

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The bytes that are read in one step: several rows, or a part of a long one. */
#define BLOCK (256 * 1024)

uint64_t ferry__rows_size(const int64_t *shape, int64_t count)
{
    return (uint64_t)shape[0] * FERRY__ROWS_HEAD + (uint64_t)count;
}

static float magnitude_of(const unsigned char *head)
{
    return ferry__float_of_bits((uint32_t)head[0] | (uint32_t)head[1] << 8 |
                                (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24);
}

void ferry__rows_put(float magnitude, unsigned char *head)
{
    uint32_t bits = ferry__float_bits(magnitude);

    for (int i = 0; i < FERRY__ROWS_HEAD; i++)
        head[i] = (unsigned char)(bits >> 8 * i);
}

/* The use of `n` integers of one row, in order. */
typedef void (*take_fn)(void *arg, float magnitude, const int8_t *integers, int64_t n);

/* Elements start … start + count − 1 of rows, and the block that they are read into. */
struct walk {
    const struct ferry__rows *rows;
    int64_t start, count;
    unsigned char *block;
    bool is_whole, has_most; /* the current row is read from its beginning; it has ±127 so far */
};

/* The bytes of a row. */
static int64_t bytes_of(const struct ferry__rows *r)
{
    return FERRY__ROWS_HEAD + r->each;
}

/* The number of wanted elements of the current row. */
static int64_t left_in_row(const struct walk *w)
{
    int64_t left = w->rows->each - w->start % w->rows->each;

    return left < w->count ? left : w->count;
}

/*
 * The reason why a part of a row is not what rounding writes; NULL: none. A row that reads other
 * than its own largest magnitude would have two scales: that of the file, and that of its values.
 */
static const char *wrong_in(struct walk *w, int64_t n, float magnitude,
                            const unsigned char *integers)
{
    int64_t at = w->start % w->rows->each;
    size_t size = (size_t)n;

    w->is_whole = w->is_whole || at == 0;
    w->has_most =
        (at > 0 && w->has_most) || memchr(integers, 127, size) || memchr(integers, 256 - 127, size);
    if (!(magnitude >= 0 && magnitude <= FLT_MAX))
        return "a magnitude that is negative or not finite";
    if (memchr(integers, 256 - 128, size))
        return "an integer of -128";
    if (magnitude == 0 && (integers[0] || memcmp(integers, integers + 1, size - 1) != 0))
        return "the magnitude 0, but other integers than 0";
    if (magnitude > 0 && w->is_whole && !w->has_most && at + n == w->rows->each)
        return "no integer of 127 or -127";
    return NULL;
}

static int take_some(struct walk *w, int64_t n, take_fn take, void *arg, const unsigned char *head,
                     const unsigned char *integers)
{
    const char *wrong = wrong_in(w, n, magnitude_of(head), integers);

    if (wrong)
        return ferry_error_set(FERRY_EFORMAT, "%s: int8_rows at byte %llu: row %lld has %s",
                               w->rows->file->path, (unsigned long long)w->rows->at,
                               (long long)(w->start / w->rows->each), wrong);
    take(arg, magnitude_of(head), (const int8_t *)integers, n);
    w->start += n;
    w->count -= n;
    return FERRY_OK;
}

/* Takes a part of a row that is longer than a block. */
static int take_part(struct walk *w, take_fn take, void *arg)
{
    const struct ferry__rows *r = w->rows;
    int64_t n = left_in_row(w) < BLOCK ? left_in_row(w) : BLOCK;
    uint64_t row = r->at + (uint64_t)(w->start / r->each * bytes_of(r));
    unsigned char head[FERRY__ROWS_HEAD];
    int err = ferry__io_file_copy(r->file, row, sizeof(head), head);

    if (!err)
        err = ferry__io_file_copy(r->file, row + sizeof(head) + (uint64_t)(w->start % r->each),
                                  (uint64_t)n, w->block);
    return err ? err : take_some(w, n, take, arg, head, w->block);
}

/* Takes the rows of a block. */
static int take_rows(struct walk *w, take_fn take, void *arg)
{
    const struct ferry__rows *r = w->rows;
    int64_t row = bytes_of(r), first = w->start / r->each;
    int64_t rows = (w->start + w->count - 1) / r->each - first + 1;
    const unsigned char *from = w->block;
    int err;

    rows = BLOCK / row < rows ? BLOCK / row : rows;
    err = ferry__io_file_copy(r->file, r->at + (uint64_t)(first * row), (uint64_t)(rows * row),
                              w->block);
    for (; rows > 0 && !err; rows--, from += row)
        err = take_some(w, left_in_row(w), take, arg, from,
                        from + FERRY__ROWS_HEAD + w->start % r->each);
    return err;
}

static int walk(struct walk *w, take_fn take, void *arg)
{
    bool long_rows = bytes_of(w->rows) > BLOCK;
    int64_t rows = w->count / w->rows->each + 2; /* at most so many are read in part or whole */
    size_t size =
        long_rows || BLOCK / bytes_of(w->rows) < rows ? BLOCK : (size_t)(rows * bytes_of(w->rows));
    int err = FERRY_OK;

    w->block = malloc(size);
    if (!w->block)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->rows->file->path);
    while (w->count > 0 && !err)
        err = long_rows ? take_part(w, take, arg) : take_rows(w, take, arg);
    free(w->block);
    return err;
}

static void widen(void *arg, float magnitude, const int8_t *integers, int64_t n)
{
    float **to = arg;

    ferry__row_widen(integers, n, magnitude, *to);
    *to += n;
}

int ferry__rows_read(const struct ferry__rows *r, int64_t start, int64_t count, float *out)
{
    struct walk w = { .rows = r, .start = start, .count = count };

    return walk(&w, widen, &out);
}

/* The places of the rows; `done` integers of the current one are there. */
struct parts {
    int64_t each, done;
    int8_t *integers;
    float *magnitudes;
};

static void separate(void *arg, float magnitude, const int8_t *integers, int64_t n)
{
    struct parts *to = arg;

    if (to->integers) {
        memcpy(to->integers, integers, (size_t)n);
        to->integers += n;
    }
    to->done += n;
    if (to->done < to->each)
        return;
    to->done = 0;
    if (to->magnitudes)
        *to->magnitudes++ = magnitude;
}

int ferry__rows_integers(const struct ferry__rows *r, int64_t rows, int8_t *integers,
                         float *magnitudes)
{
    struct walk w = { .rows = r, .count = rows * r->each };
    struct parts to = { .each = r->each, .integers = integers, .magnitudes = magnitudes };

    return walk(&w, separate, &to);
}
