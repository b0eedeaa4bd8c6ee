/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ----------------------------------------------------------------------------------- */

/* Formats a shape: "64 3 3 3"; "-" for a scalar. */
static void shape_text(const ferry_io_entry *entry, char *buf, size_t size)
{
    size_t used = 0;

    snprintf(buf, size, "-");
    for (int i = 0; i < entry->rank && used < size; i++)
        used +=
            (size_t)snprintf(buf + used, size - used, "%s%" PRId64, i ? " " : "", entry->shape[i]);
}

static void number_text(double value, char *buf, size_t size)
{
    if (isnan(value))
        snprintf(buf, size, "nan"); /* NaN of either sign */
    else
        snprintf(buf, size, "%.7g", value);
}

static int64_t tallest(const struct inspect_stats *s)
{
    int64_t most = 0;

    for (int i = 0; i < INSPECT_BINS; i++)
        most = s->bins[i] > most ? s->bins[i] : most;
    return most;
}

/* Formats a histogram: a character for each bin, from a blank to a full block. */
static void histogram_text(const struct inspect_stats *s, char *buf, size_t size)
{
    static const char *const blocks[] = { " ",
                                          "\xe2\x96\x81",
                                          "\xe2\x96\x82",
                                          "\xe2\x96\x83",
                                          "\xe2\x96\x84",
                                          "\xe2\x96\x85",
                                          "\xe2\x96\x86",
                                          "\xe2\x96\x87",
                                          "\xe2\x96\x88" };
    int64_t most = tallest(s);
    size_t used = 0;

    *buf = '\0';
    for (int i = 0; i < INSPECT_BINS && most > 0; i++)
        used += (size_t)snprintf(buf + used, size - used, "%s",
                                 blocks[(int)ceil((double)s->bins[i] * 8 / (double)most)]);
}

/* ---- tables --------------------------------------------------------------------------------- */

#define MOST_CELLS 14

struct cells {
    const char *at[MOST_CELLS];
    char text[MOST_CELLS][80];
    char shape[FERRY_MAX_AXES * 21 + 1];
    int n;
};

static void add_text(struct cells *c, const char *text)
{
    c->at[c->n++] = text;
}

static void add_number(struct cells *c, double value, bool unreadable)
{
    number_text(value, c->text[c->n], sizeof(c->text[0]));
    add_text(c, unreadable ? "-" : c->text[c->n]);
}

static void add_count(struct cells *c, int64_t value, bool unreadable)
{
    snprintf(c->text[c->n], sizeof(c->text[0]), "%" PRId64, value);
    add_text(c, unreadable ? "-" : c->text[c->n]);
}

static void add_stats(struct cells *c, const struct inspect_stats *s, bool unreadable)
{
    add_number(c, s->min, unreadable);
    add_number(c, s->max, unreadable);
    add_number(c, s->mean, unreadable);
    add_number(c, s->std, unreadable);
    add_count(c, s->zeros, unreadable);
    add_count(c, s->nans, unreadable);
    add_count(c, s->infinities, unreadable);
    histogram_text(s, c->text[c->n], sizeof(c->text[0]));
    add_text(c, unreadable ? "" : c->text[c->n]);
}

static bool add_row(struct tool_table *table, const struct inspection *in,
                    const struct inspect_row *row)
{
    const ferry_io_entry *e = row->entry;
    bool unreadable = row->unreadable != NULL;
    struct cells c = { .n = 0 };

    shape_text(e, c.shape, sizeof(c.shape));
    add_text(&c, e->name);
    add_text(&c, e->storage);
    add_text(&c, c.shape);
    add_count(&c, e->count, false);
    if (in->stats) {
        add_stats(&c, &row->stats, unreadable);
    } else {
        add_number(&c, row->l1, unreadable);
        add_number(&c, row->sumsq, unreadable);
    }
    if (in->sha256)
        add_text(&c, unreadable ? "-" : row->sha256);
    add_text(&c, unreadable ? row->unreadable : "");
    return tool_table_add(table, c.at);
}

static struct tool_table *make_table(const struct inspection *in)
{
    static const char *const first[] = { "NAME", "DTYPE", "SHAPE", ">COUNT" },
                             *const norms[] = { ">L1", ">SUMSQ" },
                             *const stats[] = { ">MIN",   ">MAX", ">MEAN", ">STD",
                                                ">ZEROS", ">NAN", ">INF",  "HISTOGRAM" };
    const char *headings[MOST_CELLS];
    int n = 4, more = in->stats ? 8 : 2;

    memcpy(headings, first, sizeof(first));
    memcpy(headings + n, in->stats ? stats : norms, (size_t)more * sizeof(*headings));
    n += more;
    if (in->sha256)
        headings[n++] = "SHA256";
    headings[n++] = "";
    return tool_table_create(headings, n);
}

static void totals_of(const struct inspection *in, int64_t *out_count, uint64_t *out_bytes)
{
    *out_count = 0;
    *out_bytes = 0;
    for (size_t i = 0; i < in->count; i++) {
        *out_count += in->rows[i].entry->count;
        *out_bytes += in->rows[i].entry->stored_bytes;
    }
}

/* The number of links that are listed; further ones are counted, and --json has all. */
#define MOST_LINKS 10

/* Lists the metadata and links of the file, which no row shows. */
static void print_links(const struct inspection *in)
{
    const char *key, *value;
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_io_metadata_count(in->io); i++) {
        if (ferry_io_metadata_at(in->io, i, &key, &value))
            break;
        if (!files_is_link(in->io, key) || n++ >= MOST_LINKS)
            continue;
        tool_printf("note: ");
        tool_print(key);
        tool_printf(": %s\n", value);
    }
    if (n > MOST_LINKS)
        tool_printf("note: and %" PRId64 " more links\n", n - MOST_LINKS);
}

static int print_table(const struct inspection *in)
{
    struct tool_table *table = make_table(in);
    int64_t all = ferry_io_entry_count(in->io), count;
    uint64_t bytes;
    char text[32];
    bool added = table != NULL;

    for (size_t i = 0; i < in->count && added; i++)
        added = add_row(table, in, &in->rows[i]);
    if (!added) {
        tool_table_destroy(table);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    tool_print(in->path);
    tool_printf(": %s, ", ferry_io_format_name(ferry_io_get_format(in->io)));
    if (in->count != (size_t)all)
        tool_printf("%zu of ", in->count);
    tool_printf("%" PRId64 " array%s, on %s\n", all, all == 1 ? "" : "s",
                ferry_device_name(in->device));
    tool_table_print(table, 0);
    tool_table_destroy(table);
    totals_of(in, &count, &bytes);
    tool_printf("total: %" PRId64 " element%s, %s in the file\n", count, count == 1 ? "" : "s",
                tool_bytes(bytes, text, sizeof(text)));
    print_links(in);
    return TOOL_OK;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *json_shape(const ferry_io_entry *entry)
{
    json_t *shape = json_array();

    for (int i = 0; i < entry->rank; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)entry->shape[i])) != 0) {
            json_decref(shape);
            return NULL; /* for a NULL argument json_pack would fail */
        }
    }
    return shape;
}

static json_t *json_stats(const struct inspect_stats *s)
{
    json_t *bins = json_array();

    for (int i = 0; i < INSPECT_BINS; i++)
        json_array_append_new(bins, json_integer((json_int_t)s->bins[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o}", "min", tool_json_real(s->min),
                     "max", tool_json_real(s->max), "mean", tool_json_real(s->mean), "std",
                     tool_json_real(s->std), "zeros", (json_int_t)s->zeros, "nan",
                     (json_int_t)s->nans, "inf", (json_int_t)s->infinities, "histogram", bins);
}

static json_t *json_row(const struct inspection *in, const struct inspect_row *row)
{
    const ferry_io_entry *e = row->entry;
    const char *why = row->unreadable;
    json_t *blob = json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:o, s:o}", "name", tool_json_string(e->name), "dtype",
        tool_json_string(e->storage), "shape", json_shape(e), "count", (json_int_t)e->count,
        "bytes", (json_int_t)e->stored_bytes, "l1", why ? json_null() : tool_json_real(row->l1),
        "sumsq", why ? json_null() : tool_json_real(row->sumsq));
    int failed = blob == NULL;

    if (!failed && why)
        failed = json_object_set_new(blob, "unreadable", tool_json_string(why));
    if (!failed && in->stats && !why)
        failed = json_object_set_new(blob, "stats", json_stats(&row->stats));
    if (!failed && in->sha256 && !why)
        failed = json_object_set_new(blob, "sha256", json_string(row->sha256));
    if (!failed)
        return blob;
    json_decref(blob);
    return NULL;
}

static json_t *json_metadata(ferry_io *io)
{
    json_t *metadata = json_object();
    const char *key, *value;

    for (int64_t i = 0; i < ferry_io_metadata_count(io); i++) {
        if (ferry_io_metadata_at(io, i, &key, &value))
            break;
        json_t *name = tool_json_string(key); /* the key may not be UTF-8, which a key of a JSON
                                               * object must be */

        if (name &&
            json_object_set_new(metadata, json_string_value(name), tool_json_string(value)) != 0) {
            json_decref(name);
            json_decref(metadata);
            return NULL;
        }
        json_decref(name);
    }
    return metadata;
}

static int print_json(const struct inspection *in)
{
    json_t *blobs = json_array();
    int64_t count;
    uint64_t bytes;

    totals_of(in, &count, &bytes);
    for (size_t i = 0; i < in->count; i++)
        if (json_array_append_new(blobs, json_row(in, &in->rows[i])) != 0) {
            json_decref(blobs);
            return tool_error(TOOL_FAILURE, "out of memory");
        }
    return tool_json_print(
        json_pack("{s:o, s:s, s:o, s:I, s:I, s:o, s:o}", "file", tool_json_string(in->path),
                  "format", ferry_io_format_name(ferry_io_get_format(in->io)), "device",
                  tool_json_string(ferry_device_name(in->device)), "count", (json_int_t)count,
                  "bytes", (json_int_t)bytes, "metadata", json_metadata(in->io), "blobs", blobs));
}

int inspect_print(const struct inspection *in)
{
    return in->json ? print_json(in) : print_table(in);
}

/* ---- pictures ------------------------------------------------------------------------------- */

#define ROW_HEIGHT 40
#define BAR_WIDTH  12
#define BARS_AT    420

static void put_escaped(FILE *file, const char *text)
{
    bool plain;

    for (size_t n; *text; text += n) {
        n = tool_character(text, &plain);
        if (*text == '<' || *text == '>' || *text == '&')
            fprintf(file, "&#%d;", *text);
        else
            fwrite(plain ? text : "?", 1, plain ? n : 1, file);
    }
}

static void draw_row(FILE *file, const struct inspect_row *row, size_t i)
{
    const struct inspect_stats *s = &row->stats;
    int64_t most = tallest(s);
    size_t base = (i + 1) * ROW_HEIGHT;
    char low[80], high[80];

    fprintf(file, "<text x=\"10\" y=\"%zu\">", base - 12);
    put_escaped(file, row->entry->name);
    fprintf(file, "</text>\n");
    number_text(s->min, low, sizeof(low));
    number_text(s->max, high, sizeof(high));
    fprintf(file, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\">%s</text>\n", BARS_AT - 8,
            base - 12, row->unreadable ? row->unreadable : low);
    for (int k = 0; k < INSPECT_BINS && most > 0; k++) {
        double height = (double)s->bins[k] * (ROW_HEIGHT - 8) / (double)most;

        fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
                BARS_AT + k * BAR_WIDTH, (double)base - 4 - height, BAR_WIDTH - 1, height);
    }
    if (!row->unreadable)
        fprintf(file, "<text x=\"%d\" y=\"%zu\">%s</text>\n",
                BARS_AT + INSPECT_BINS * BAR_WIDTH + 8, base - 12, high);
}

int inspect_draw(const struct inspection *in, const char *path)
{
    FILE *file = fopen(path, "w");
    bool wrong;

    if (!file)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"740\" height=\"%zu\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<g fill=\"#345\">\n",
            (in->count + 1) * ROW_HEIGHT);
    for (size_t i = 0; i < in->count; i++)
        draw_row(file, &in->rows[i], i);
    fputs("</g>\n</svg>\n", file);
    wrong = ferror(file) != 0;
    if (fclose(file) != 0 || wrong)
        return tool_error(TOOL_FAILURE, "%s: %s", path, strerror(errno));
    return TOOL_OK;
}
