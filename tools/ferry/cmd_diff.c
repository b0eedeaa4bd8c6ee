/* SPDX-License-Identifier: BSD-2-Clause */
#include "files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry diff`: array by array, how far two files are apart. Exit status as diff(1)'s. */

#define DIFF_DIFFERENT 1
#define DIFF_TROUBLE   2

/* Bytes of each file that are compared at a time. */
#define PIECE (4u * 1024 * 1024)

struct comparison {
    ferry_io *a, *b;
    const char *a_path, *b_path;
    double tolerance;
    bool trust;
    json_t *arrays;           /* with --json, else NULL */
    struct tool_table *table; /* without */
    unsigned char *a_tile, *b_tile;
    int64_t different;
};

struct distance {
    double max_abs, max_rel;
    bool equal;
};

/* ---- values --------------------------------------------------------------------------------- */

/* NaN is as far from NaN as 1 from 1, and infinitely far from all else. */
static void compare_value(double a, double b, double tolerance, struct distance *d)
{
    double largest = fmax(fabs(a), fabs(b)), apart = fabs(a - b), relative;

    if (a == b || (isnan(a) && isnan(b)))
        return;
    if (isnan(apart))
        apart = (double)INFINITY;
    relative = isfinite(apart) ? apart / largest : (double)INFINITY;
    d->max_abs = fmax(d->max_abs, apart);
    d->max_rel = fmax(d->max_rel, relative);
    if (!(apart <= tolerance || relative <= tolerance))
        d->equal = false;
}

/* As integers of 64 bits may differ where their doubles do not. */
static void compare_int64(const int64_t *a, const int64_t *b, int64_t n, double tolerance,
                          struct distance *d)
{
    for (int64_t i = 0; i < n; i++) {
        double apart = a[i] < b[i] ? (double)((uint64_t)b[i] - (uint64_t)a[i])
                                   : (double)((uint64_t)a[i] - (uint64_t)b[i]);
        double relative = apart / fmax(fabs((double)a[i]), fabs((double)b[i]));

        if (a[i] == b[i])
            continue;
        d->max_abs = fmax(d->max_abs, apart);
        d->max_rel = fmax(d->max_rel, relative);
        if (!(apart <= tolerance || relative <= tolerance))
            d->equal = false;
    }
}

static void compare_tiles(const struct comparison *c, ferry_dtype dtype, int64_t n,
                          struct distance *d)
{
    if (memcmp(c->a_tile, c->b_tile, (size_t)n * ferry_dtype_size(dtype)) == 0)
        return;
    if (dtype == FERRY_I64) {
        compare_int64((const int64_t *)(const void *)c->a_tile,
                      (const int64_t *)(const void *)c->b_tile, n, c->tolerance, d);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        compare_value(files_value(dtype, c->a_tile, i), files_value(dtype, c->b_tile, i),
                      c->tolerance, d);
}

/* Of the data, or of the diffs beside them. */
static int measure(const struct comparison *c, const ferry_io_entry *a, const ferry_io_entry *b,
                   bool diff, struct distance *d)
{
    int (*read)(ferry_io *, const ferry_io_entry *, int64_t, int64_t, void *) =
        diff ? ferry_io_read_diff_values : ferry_io_read_values;
    ferry_dtype dtype = diff ? a->diff_dtype : a->dtype;
    int64_t most = (int64_t)(PIECE / ferry_dtype_size(dtype));

    for (int64_t start = 0; start < a->count; start += most) {
        int64_t n = a->count - start < most ? a->count - start : most;

        if (read(c->a, a, start, n, c->a_tile) || read(c->b, b, start, n, c->b_tile))
            return tool_ferry_error();
        compare_tiles(c, dtype, n, d);
    }
    return TOOL_OK;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* `why`: what keeps the two from being compared; NULL where they were. */
static bool report(struct comparison *c, const char *name, const char *why,
                   const struct distance *d)
{
    char abs_text[32] = "-", rel_text[32] = "-";
    const char *cells[] = { name, abs_text, rel_text,
                            why        ? why
                            : d->equal ? "equal"
                                       : "different" };
    bool equal = !why && d->equal;
    json_t *row;

    c->different += !equal;
    if (!why) {
        snprintf(abs_text, sizeof(abs_text), "%.4g", d->max_abs);
        snprintf(rel_text, sizeof(rel_text), "%.4g", d->max_rel);
    }
    if (c->table)
        return tool_table_add(c->table, cells);
    row = json_pack("{s:o, s:b, s:o, s:o, s:s}", "name", tool_json_string(name), "equal", equal,
                    "max_abs", why ? json_null() : tool_json_real(d->max_abs), "max_rel",
                    why ? json_null() : tool_json_real(d->max_rel), "reason", why ? why : "");
    return row && json_array_append_new(c->arrays, row) == 0;
}

static bool same_dims(const ferry_io_entry *a, const ferry_io_entry *b)
{
    return a->naxes == b->naxes &&
           (a->naxes == 0 || memcmp(a->dims, b->dims, (size_t)a->naxes * sizeof(*a->dims)) == 0);
}

/* One row: of the data, or of the diffs. `why` as in report. */
static int compare_half(struct comparison *c, const ferry_io_entry *a, const ferry_io_entry *b,
                        bool diff, const char *why)
{
    struct distance d = { 0, 0, true };
    size_t size = strlen(a->name) + 16;
    char *name = malloc(size);
    bool reported;

    if (!name)
        return tool_error(DIFF_TROUBLE, "out of memory");
    snprintf(name, size, "%s%s", a->name, diff ? " (diff)" : "");
    if (!why && measure(c, a, b, diff, &d) != TOOL_OK) {
        free(name);
        return DIFF_TROUBLE;
    }
    reported = report(c, name, why, &d);
    free(name);
    return reported ? TOOL_OK : tool_error(DIFF_TROUBLE, "out of memory");
}

static int compare_diffs(struct comparison *c, const ferry_io_entry *a, const ferry_io_entry *b)
{
    const char *why = !b->has_diff                     ? "only in the first"
                      : !a->has_diff                   ? "only in the second"
                      : a->diff_dtype != b->diff_dtype ? "another dtype"
                                                       : NULL;

    return compare_half(c, a, b, true, why);
}

static int compare_entry(struct comparison *c, const ferry_io_entry *a)
{
    const ferry_io_entry *b = NULL, *first = NULL;
    const char *why;
    int status;

    if (ferry_io_find(c->a, a->name, &first) || files_find(c->b, c->a, a->name, &b))
        return tool_ferry_error();
    why = first != a             ? "its name comes twice"
          : !b                   ? "only in the first"
          : !same_dims(a, b)     ? "another shape"
          : a->unreadable        ? a->unreadable
          : b->unreadable        ? b->unreadable
          : a->dtype != b->dtype ? "another dtype"
                                 : NULL;
    status = compare_half(c, a, b, false, why);
    if (status == TOOL_OK && !why && (a->has_diff || b->has_diff))
        status = compare_diffs(c, a, b);
    return status;
}

static int compare_files(struct comparison *c)
{
    const ferry_io_entry *entry, *other;

    for (int64_t i = 0; i < ferry_io_count(c->a); i++)
        if (ferry_io_entry_at(c->a, i, &entry) || compare_entry(c, entry) != TOOL_OK)
            return DIFF_TROUBLE;
    for (int64_t i = 0; i < ferry_io_count(c->b); i++) {
        if (ferry_io_entry_at(c->b, i, &entry) || files_find(c->a, c->b, entry->name, &other)) {
            (void)tool_ferry_error();
            return DIFF_TROUBLE;
        }
        if (!other && !report(c, entry->name, "only in the second", NULL))
            return tool_error(DIFF_TROUBLE, "out of memory");
    }
    return c->different ? DIFF_DIFFERENT : TOOL_OK;
}

static int print(struct comparison *c)
{
    json_t *document;

    if (c->table) {
        tool_table_print(c->table, 0);
        return TOOL_OK;
    }
    document =
        json_pack("{s:o, s:o, s:b, s:o}", "a", tool_json_string(c->a_path), "b",
                  tool_json_string(c->b_path), "equal", c->different == 0, "arrays", c->arrays);
    c->arrays = NULL;
    return tool_json_print(document) == TOOL_OK ? TOOL_OK : DIFF_TROUBLE;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int diff(struct comparison *c, bool json)
{
    static const char *const headings[] = { "NAME", ">MAX ABS", ">MAX REL", "RESULT" };
    int status = DIFF_TROUBLE;

    c->a_tile = malloc(PIECE);
    c->b_tile = malloc(PIECE);
    if (json)
        c->arrays = json_array();
    else
        c->table = tool_table_create(headings, 4);
    if (!c->a_tile || !c->b_tile || (!c->arrays && !c->table))
        (void)tool_error(DIFF_TROUBLE, "out of memory");
    else if (files_open(c->a_path, c->trust, &c->a) || files_open(c->b_path, c->trust, &c->b))
        (void)tool_ferry_error();
    else
        status = compare_files(c);
    if (status != DIFF_TROUBLE && print(c) != TOOL_OK)
        status = DIFF_TROUBLE;
    ferry_io_close(c->a);
    ferry_io_close(c->b);
    json_decref(c->arrays);
    tool_table_destroy(c->table);
    free(c->a_tile);
    free(c->b_tile);
    return status;
}

int cmd_diff(const struct tool_command *self, int argc, char **argv)
{
    struct comparison c = { .tolerance = 0 };
    const char *tolerance = NULL;
    bool json = false;
    const struct tool_option options[] = { { "--json", NULL, &json, NULL },
                                           { "--tolerance", "-t", NULL, &tolerance },
                                           { "--trust", NULL, &c.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 2);
    char *end = NULL;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(DIFF_TROUBLE, "diff: which two files? usage: ferry diff %s",
                          self->arguments);
    if (tolerance)
        c.tolerance = strtod(tolerance, &end);
    if (tolerance && (end == tolerance || *end || !(c.tolerance >= 0)))
        return tool_error(DIFF_TROUBLE, "diff: \"%s\" is no tolerance", tolerance);
    c.a_path = argv[0];
    c.b_path = argv[1];
    return diff(&c, json);
}
