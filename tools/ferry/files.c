/* SPDX-License-Identifier: BSD-2-Clause */
#include "files.h"
#include "input.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int files_open(const char *path, bool trust, ferry_io **out)
{
    return strcmp(path, "-") == 0 ? input_open(out)
                                  : ferry_io_open_with(path, trust ? FERRY_IO_TRUST : 0, out);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static bool is_unnamed(ferry_io *io)
{
    ferry_io_format format = ferry_io_get_format(io);

    return ferry_io_entry_count(io) == 1 &&
           (format == FERRY_IO_NPY || format == FERRY_IO_BLOBPROTO);
}

int files_find(ferry_io *io, ferry_io *named_in, const char *name, const ferry_io_entry **out)
{
    int err = ferry_io_entry_find(io, name, out);

    if (!err && !*out && is_unnamed(io) && is_unnamed(named_in))
        err = ferry_io_entry_at(io, 0, out);
    return err;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Splits "layer/12" into the length of "layer", and 12; −1 for any other name. */
static long blob_number(const char *name, size_t *layer)
{
    const char *slash = strrchr(name, '/');
    size_t digits = slash ? strspn(slash + 1, "0123456789") : 0;

    if (digits == 0 || digits > 9 || slash[1 + digits])
        return -1;
    *layer = (size_t)(slash - name);
    return strtol(slash + 1, NULL, 10);
}

struct placed {
    struct files_item item;
    size_t layer, place; /* the length of the layer's name; the original index */
    size_t first;        /* the original index of the layer's first item */
    long number;
};

static int by_name(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    size_t n = a->layer < b->layer ? a->layer : b->layer;
    int c = memcmp(a->item.name, b->item.name, n);

    if (c == 0 && a->layer != b->layer)
        c = a->layer < b->layer ? -1 : 1;
    return c ? c : a->place < b->place ? -1 : 1;
}

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

void files_group_layers(struct files_item *items, size_t n)
{
    struct placed *placed = calloc(n + 1, sizeof(*placed));

    for (size_t i = 0; i < n && placed; i++) {
        placed[i] = (struct placed){ items[i], strlen(items[i].name), i, i, -1 };
        placed[i].number = blob_number(items[i].name, &placed[i].layer);
    }
    if (placed)
        qsort(placed, n, sizeof(*placed), by_name);
    for (size_t i = 1; i < n && placed; i++)
        if (placed[i - 1].layer == placed[i].layer &&
            memcmp(placed[i - 1].item.name, placed[i].item.name, placed[i].layer) == 0)
            placed[i].first = placed[i - 1].first;
    if (placed)
        qsort(placed, n, sizeof(*placed), by_place);
    for (size_t i = 0; i < n && placed; i++)
        items[i] = placed[i].item;
    free(placed);
}

/*
 * Copies the definition from caffemodel to caffemodel; *out is false if the target cannot hold it.
 */
static int copy_definition(ferry_io *from, struct target *to, bool *out)
{
    int err;

    *out = false;
    if (ferry_io_get_format(from) != FERRY_IO_CAFFEMODEL || to->format != FERRY_IO_CAFFEMODEL)
        return FERRY_OK;
    err = target_copy_definition(to, from);
    *out = !err;
    return err == FERRY_EUNSUPPORTED ? FERRY_OK : err;
}

/*
 * Whether the string is the size of a net's definition, which ferry_io reports but does not
 * interpret.
 */
static bool is_definition(const ferry_io *from, const char *key)
{
    return ferry_io_get_format(from) == FERRY_IO_CAFFEMODEL && strcmp(key, "definition") == 0;
}

bool files_is_link(const ferry_io *io, const char *key)
{
    return ferry_io_get_format(io) == FERRY_IO_HDF5 && strncmp(key, "link ", 5) == 0;
}

/* The number of links that are named; further ones are counted. */
#define NAMED_LINKS 3

static void note_links(ferry_io *from, struct target *to)
{
    const char *key, *value;
    int64_t n = 0;

    for (int64_t i = 0; i < ferry_io_metadata_count(from); i++)
        if (!ferry_io_metadata_at(from, i, &key, &value) && files_is_link(from, key) &&
            n++ < NAMED_LINKS)
            target_note(to, "%s is not carried over: %s", key, value);
    if (n > NAMED_LINKS)
        target_note(to, "and %" PRId64 " more links", n - NAMED_LINKS);
}

int files_copy_metadata(ferry_io *from, struct target *to, bool whole)
{
    bool defined = false;
    int err = whole ? copy_definition(from, to, &defined) : FERRY_OK;

    if (err || defined) /* the definition includes all other metadata of a caffemodel */
        return err;
    note_links(from, to);
    for (int64_t i = 0; i < ferry_io_metadata_count(from); i++) {
        const char *key, *value;

        err = ferry_io_metadata_at(from, i, &key, &value);
        if (!err && files_is_link(from, key))
            continue;
        if (!err && is_definition(from, key)) {
            target_note(to, "of the net's definition %s are not carried over", value);
            continue;
        }
        if (!err)
            err = target_set_metadata(to, key, value);
        if (err == FERRY_EUNSUPPORTED)
            target_note(to, "%s", ferry_last_error());
        else if (err)
            return err;
    }
    return FERRY_OK;
}

/* ---- tiles ---------------------------------------------------------------------------------- */

static int copy_half(ferry_io *from, const ferry_io_entry *entry, bool diff, struct target *to,
                     void *tile, struct progress *p)
{
    size_t size = ferry_dtype_size(entry->dtype);
    int64_t most = (int64_t)(FILES_PIECE / size);

    for (int64_t start = 0; start < entry->count; start += most) {
        int64_t n = entry->count - start < most ? entry->count - start : most;
        int err;

        if (is_interrupted())
            return FERRY_EBUSY;
        err = diff ? ferry_io_read_diff_values(from, entry, start, n, tile)
                   : ferry_io_read_values(from, entry, start, n, tile);
        if (!err)
            err = target_write(to, tile, (size_t)n * size);
        if (err)
            return err;
        progress_step(p, (uint64_t)n * size);
    }
    return FERRY_OK;
}

int files_copy(ferry_io *from, const ferry_io_entry *entry, bool with_diff, struct target *to,
               void *tile, struct progress *p)
{
    int err = copy_half(from, entry, false, to, tile, p);

    return err || !with_diff ? err : copy_half(from, entry, true, to, tile, p);
}

static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = (bits & 1023) / 1024.0;
    double value = exponent == 0    ? ldexp(fraction, -14)
                   : exponent == 31 ? (fraction > 0 ? (double)NAN : (double)INFINITY)
                                    : ldexp(1 + fraction, exponent - 15);

    return bits >> 15 ? -value : value;
}

static double bfloat_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof(value));
    return (double)value;
}

double files_value(ferry_dtype dtype, const void *values, int64_t i)
{
    switch (dtype) {
    case FERRY_F32:
        return (double)((const float *)values)[i];
    case FERRY_F64:
        return ((const double *)values)[i];
    case FERRY_F16:
        return half_value(((const uint16_t *)values)[i]);
    case FERRY_BF16:
        return bfloat_value(((const uint16_t *)values)[i]);
    case FERRY_I8:
        return ((const int8_t *)values)[i];
    case FERRY_U8:
        return ((const uint8_t *)values)[i];
    case FERRY_I32:
        return ((const int32_t *)values)[i];
    case FERRY_I64:
        return (double)((const int64_t *)values)[i];
    case FERRY_U32:
        return ((const uint32_t *)values)[i];
    default:
        return (double)NAN;
    }
}

int files_parse_dtype(const struct tool_command *self, const char *text, ferry_dtype *out)
{
    for (int i = 0; i < FERRY_DTYPE_COUNT; i++)
        if (strcasecmp(text, ferry_dtype_name((ferry_dtype)i)) == 0) {
            *out = (ferry_dtype)i;
            return TOOL_OK;
        }
    return tool_error(TOOL_USAGE, "%s: unknown dtype \"%s\": F32 F64 F16 BF16 I8 U8 I32 I64 U32",
                      self->name, text);
}
