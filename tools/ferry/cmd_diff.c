/* SPDX-License-Identifier: BSD-2-Clause */
#include "diff.h"
#include "files.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry diff`: compares two files array by array. The exit status is that of diff(1). */

#define DIFF_DIFFERENT 1
#define DIFF_TROUBLE   2

struct comparison {
    ferry_io *a, *b;
    const char *a_path, *b_path;
    double tolerance;
    bool trust, quiet;
    json_t *arrays;           /* with --json, else NULL */
    struct tool_table *table; /* set without --json */
    void *a_tile, *b_tile;
    int64_t equal, different, apart; /* numbers of rows; apart: of arrays that could not be
                                      * compared */
    double furthest;
    char *furthest_at; /* "x at 3 0": the array and the element with the largest difference; or
                        * NULL */
};

/* One row: a comparison, or the reason why there was none. */
struct row {
    const char *name;
    const ferry_io_entry *a, *b; /* NULL: the file lacks the array */
    ferry_dtype a_dtype, b_dtype;
    const char *why; /* the reason, or NULL if they were compared */
    struct distance d;
};

/* ---- text ----------------------------------------------------------------------------------- */

/* The indices of element `at`, "3 0 1"; "-" for a scalar. */
static void index_text(const ferry_io_entry *entry, int64_t at, char *buf, size_t size)
{
    int64_t rest = entry->count;
    size_t used = 0;

    snprintf(buf, size, "-");
    for (int i = 0; i < entry->rank && used < size; i++) {
        rest /= entry->shape[i];
        used += (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? " " : "", at / rest);
        at %= rest;
    }
}

static json_t *index_json(const ferry_io_entry *entry, int64_t at)
{
    json_t *list = at < 0 ? NULL : json_array();
    int64_t rest = entry->count;

    for (int i = 0; list && i < entry->rank; i++) {
        rest /= entry->shape[i];
        json_array_append_new(list, json_integer((json_int_t)(at / rest)));
        at %= rest;
    }
    return list ? list : json_null();
}

static void cosine_text(double cosine, char *buf, size_t size)
{
    if (isnan(cosine))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, "%.7g", cosine);
}

static void result_text(const struct row *r, char *buf, size_t size)
{
    const char *word = r->why ? r->why : r->d.equal ? "equal" : "different";

    if (r->why || r->a_dtype == r->b_dtype)
        snprintf(buf, size, "%s", word);
    else
        snprintf(buf, size, "%s, %s and %s", word, ferry_dtype_name(r->a_dtype),
                 ferry_dtype_name(r->b_dtype));
}

/* ---- rows ----------------------------------------------------------------------------------- */

#define INDEX_SIZE (FERRY_MAX_AXES * 21 + 1)

static bool add_row(const struct comparison *c, const struct row *r)
{
    char abs_text[32] = "-", rel_text[32] = "-", at_text[INDEX_SIZE] = "-", cos_text[32] = "-";
    char result[300];
    const char *cells[] = { r->name, abs_text, rel_text, at_text, cos_text, result };

    result_text(r, result, sizeof(result));
    if (!r->why) {
        snprintf(abs_text, sizeof(abs_text), "%.4g", r->d.max_abs);
        snprintf(rel_text, sizeof(rel_text), "%.4g", r->d.max_rel);
        cosine_text(r->d.cosine, cos_text, sizeof(cos_text));
        if (r->d.worst >= 0)
            index_text(r->a, r->d.worst, at_text, sizeof(at_text));
    }
    return tool_table_add(c->table, cells);
}

static bool add_json(const struct comparison *c, const struct row *r)
{
    bool measured = !r->why;
    json_t *row = json_pack(
        "{s:o, s:b, s:o, s:o, s:o, s:o, s:s}", "name", tool_json_string(r->name), "equal",
        measured && r->d.equal, "max_abs", measured ? tool_json_real(r->d.max_abs) : json_null(),
        "max_rel", measured ? tool_json_real(r->d.max_rel) : json_null(), "worst",
        measured ? index_json(r->a, r->d.worst) : json_null(), "cosine",
        measured ? tool_json_real(r->d.cosine) : json_null(), "reason", measured ? "" : r->why);

    if (row && measured)
        json_object_set_new(
            row, "dtypes",
            json_pack("[s, s]", ferry_dtype_name(r->a_dtype), ferry_dtype_name(r->b_dtype)));
    return row && json_array_append_new(c->arrays, row) == 0;
}

/* Updates the values of the last line. Returns false if out of memory. */
static bool take_furthest(struct comparison *c, const struct row *r)
{
    char at[INDEX_SIZE];
    size_t size = strlen(r->name) + sizeof(at) + 8;

    if (r->why || r->d.worst < 0 || !(r->d.max_abs > c->furthest))
        return true;
    c->furthest = r->d.max_abs;
    index_text(r->a, r->d.worst, at, sizeof(at));
    free(c->furthest_at);
    c->furthest_at = malloc(size);
    if (c->furthest_at)
        snprintf(c->furthest_at, size, "%s at %s", r->name, at);
    return c->furthest_at != NULL;
}

static int report(struct comparison *c, const struct row *r)
{
    bool reported = take_furthest(c, r);

    if (r->why)
        c->apart++;
    else if (r->d.equal)
        c->equal++;
    else
        c->different++;
    if (reported && c->table)
        reported = add_row(c, r);
    else if (reported && c->arrays)
        reported = add_json(c, r);
    return reported ? TOOL_OK : tool_error(DIFF_TROUBLE, "out of memory");
}

/* ---- arrays --------------------------------------------------------------------------------- */

static bool same_dims(const ferry_io_entry *a, const ferry_io_entry *b)
{
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(*a->shape)) == 0);
}

/* Compares the data, or the diffs. */
static int compare_half(struct comparison *c, struct row *r, bool diff)
{
    struct diff_side a = { c->a, r->a, diff, c->a_tile }, b = { c->b, r->b, diff, c->b_tile };

    if (!r->why) {
        r->a_dtype = diff ? r->a->diff_dtype : r->a->dtype;
        r->b_dtype = diff ? r->b->diff_dtype : r->b->dtype;
        if (diff_measure(&a, &b, c->tolerance, &r->d))
            return tool_ferry_error();
    }
    return report(c, r);
}

static int compare_diffs(struct comparison *c, const ferry_io_entry *a, const ferry_io_entry *b)
{
    size_t size = strlen(a->name) + 16;
    char *name = malloc(size);
    struct row r = { .name = name, .a = a, .b = b };
    int status;

    if (!name)
        return tool_error(DIFF_TROUBLE, "out of memory");
    snprintf(name, size, "%s (diff)", a->name);
    r.why = !b->has_diff ? "only in the first" : !a->has_diff ? "only in the second" : NULL;
    status = compare_half(c, &r, true);
    free(name);
    return status;
}

static int compare_entry(struct comparison *c, const ferry_io_entry *a)
{
    const ferry_io_entry *b = NULL, *first = NULL;
    struct row r = { .name = a->name, .a = a };
    int status;

    if (ferry_io_entry_find(c->a, a->name, &first) || files_find(c->b, c->a, a->name, &b))
        return tool_ferry_error();
    r.b = b;
    r.why = first != a         ? "its name occurs twice"
            : !b               ? "only in the first"
            : !same_dims(a, b) ? "different shapes"
            : a->unreadable    ? a->unreadable
            : b->unreadable    ? b->unreadable
                               : NULL;
    status = compare_half(c, &r, false);
    if (status == TOOL_OK && !r.why && (a->has_diff || b->has_diff))
        status = compare_diffs(c, a, b);
    return status;
}

/* Compares the arrays of the first file. */
static int compare_entries(struct comparison *c)
{
    struct progress progress = { .quiet = c->quiet };
    const ferry_io_entry *entry;
    int status = TOOL_OK;
    uint64_t bytes = 0;

    for (int64_t i = 0; ferry_io_entry_at(c->a, i, &entry) == FERRY_OK; i++)
        bytes += entry->stored_bytes;
    progress_begin(&progress, "comparing", NULL, bytes);
    for (int64_t i = 0; status == TOOL_OK && ferry_io_entry_at(c->a, i, &entry) == FERRY_OK; i++) {
        status = compare_entry(c, entry);
        progress_step(&progress, entry->stored_bytes);
    }
    progress_end(&progress);
    return status;
}

static int compare_files(struct comparison *c)
{
    const ferry_io_entry *entry, *other;

    if (compare_entries(c) != TOOL_OK)
        return DIFF_TROUBLE;
    for (int64_t i = 0; i < ferry_io_entry_count(c->b); i++) {
        if (ferry_io_entry_at(c->b, i, &entry) || files_find(c->a, c->b, entry->name, &other)) {
            (void)tool_ferry_error();
            return DIFF_TROUBLE;
        }
        if (!other && report(c, &(struct row){ .name = entry->name,
                                               .b = entry,
                                               .why = "only in the second" }) != TOOL_OK)
            return DIFF_TROUBLE;
    }
    return c->different || c->apart ? DIFF_DIFFERENT : TOOL_OK;
}

/* ---- output --------------------------------------------------------------------------------- */

static void print_summary(const struct comparison *c)
{
    int64_t all = c->equal + c->different + c->apart;

    tool_printf("%" PRId64 " array%s: %" PRId64 " equal, %" PRId64 " different, %" PRId64
                " not compared",
                all, all == 1 ? "" : "s", c->equal, c->different, c->apart);
    if (c->furthest_at) {
        fputs("; largest difference: ", stdout);
        tool_print(c->furthest_at);
        tool_printf(", by %.4g", c->furthest);
    }
    putchar('\n');
}

/* Flushes the output, because a full disk means exit status 2, whatever the comparison found. */
static int flush(void)
{
    FILE *to = tool_output();

    if (fflush(to) != 0 || ferror(to))
        return tool_error(DIFF_TROUBLE, "standard output: %s", strerror(errno));
    return TOOL_OK;
}

static int print(struct comparison *c)
{
    bool equal = c->different == 0 && c->apart == 0;
    json_t *document;

    if (c->quiet)
        return TOOL_OK;
    if (c->table) {
        tool_table_print(c->table, 0);
        print_summary(c);
        return flush();
    }
    document =
        json_pack("{s:o, s:o, s:b, s:{s:I, s:I, s:I}, s:o}", "a", tool_json_string(c->a_path), "b",
                  tool_json_string(c->b_path), "equal", equal, "counts", "equal",
                  (json_int_t)c->equal, "different", (json_int_t)c->different, "not_compared",
                  (json_int_t)c->apart, "arrays", c->arrays);
    c->arrays = NULL;
    return tool_json_print(document) == TOOL_OK ? flush() : DIFF_TROUBLE;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int diff(struct comparison *c, bool json)
{
    static const char *const headings[] = { "NAME", ">MAX ABS", ">MAX REL",
                                            "AT",   ">COSINE",  "RESULT" };
    int status = DIFF_TROUBLE;

    c->a_tile = malloc(DIFF_PIECE);
    c->b_tile = malloc(DIFF_PIECE);
    if (json)
        c->arrays = json_array();
    else if (!c->quiet)
        c->table = tool_table_create(headings, 6);
    if (!c->a_tile || !c->b_tile || (!c->arrays && !c->table && !c->quiet))
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
    free(c->furthest_at);
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
                                           { "--quiet", "-q", &c.quiet, NULL },
                                           { "--trust", NULL, &c.trust, NULL },
                                           { NULL, NULL, NULL, NULL } };
    int n = tool_parse(self, argc, argv, options, 2);
    char *end = NULL;

    if (n < 0)
        return tool_parse_status(n);
    if (n < 2)
        return tool_error(DIFF_TROUBLE, "diff: expected two files; usage: ferry diff %s",
                          self->arguments);
    if (tolerance)
        c.tolerance = strtod(tolerance, &end);
    if (tolerance && (end == tolerance || *end || !(c.tolerance >= 0)))
        return tool_error(DIFF_TROUBLE, "diff: \"%s\" is not a valid tolerance", tolerance);
    c.a_path = argv[0];
    c.b_path = argv[1];
    return diff(&c, json);
}
