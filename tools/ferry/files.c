/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int files_format(const struct tool_command *self, const char *path, const char *name,
                 ferry_io_format otherwise, ferry_io_format *out)
{
    ferry_io_format format = ferry_io_format_of(name ? name : path);

    if (format == FERRY_IO_UNKNOWN && !name)
        format = otherwise;
    if (format == FERRY_IO_UNKNOWN)
        return tool_error(TOOL_USAGE,
                          "%s: which format is \"%s\"? --format names one of "
                          "caffemodel, binaryproto, solverstate, npy, npz, safetensors, hdf5",
                          self->name, name ? name : path);
    *out = format;
    return TOOL_OK;
}

int files_open(const char *path, bool trust, ferry_io **out)
{
    return ferry_io_open_with(path, trust ? FERRY_IO_TRUST : 0, out);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static bool is_unnamed(ferry_io *io)
{
    ferry_io_format format = ferry_io_get_format(io);

    return ferry_io_count(io) == 1 && (format == FERRY_IO_NPY || format == FERRY_IO_BLOBPROTO);
}

int files_find(ferry_io *io, ferry_io *named_in, const char *name, const ferry_io_entry **out)
{
    int err = ferry_io_find(io, name, out);

    if (!err && !*out && is_unnamed(io) && is_unnamed(named_in))
        err = ferry_io_entry_at(io, 0, out);
    return err;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* "layer/12": the length of "layer", and 12; −1 where the name is none of these. */
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
    const ferry_io_entry *entry;
    size_t layer;  /* length of its name */
    int64_t first; /* the least index of an entry of that layer */
    long number;
};

static int by_name(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    size_t n = a->layer < b->layer ? a->layer : b->layer;
    int c = memcmp(a->entry->name, b->entry->name, n);

    if (c == 0 && a->layer != b->layer)
        c = a->layer < b->layer ? -1 : 1;
    return c ? c : a->entry->index < b->entry->index ? -1 : 1;
}

static int by_place(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->entry->index < b->entry->index ? -1 : 1;
}

/* Layers stay in the order of their first blobs; inside a layer the numbers decide. */
static void group_layers(struct placed *placed, size_t n)
{
    qsort(placed, n, sizeof(*placed), by_name);
    for (size_t i = 0; i < n; i++) {
        const struct placed *former = i ? &placed[i - 1] : NULL;
        bool same = former && former->layer == placed[i].layer &&
                    memcmp(former->entry->name, placed[i].entry->name, placed[i].layer) == 0;

        placed[i].first = same ? former->first : placed[i].entry->index;
    }
    qsort(placed, n, sizeof(*placed), by_place);
}

int files_order(ferry_io *io, ferry_io_format format, const ferry_io_entry ***out)
{
    size_t n = (size_t)ferry_io_count(io);
    struct placed *placed = calloc(n + 1, sizeof(*placed));
    const ferry_io_entry **order = calloc(n + 1, sizeof(*order));
    bool grouped = format == FERRY_IO_CAFFEMODEL && ferry_io_get_format(io) != format;

    if (!placed || !order) {
        free(placed);
        free(order);
        return tool_error(TOOL_FAILURE, "out of memory");
    }
    for (size_t i = 0; i < n; i++) {
        (void)ferry_io_entry_at(io, (int64_t)i, &placed[i].entry);
        placed[i].layer = strlen(placed[i].entry->name);
        placed[i].number = blob_number(placed[i].entry->name, &placed[i].layer);
    }
    if (grouped)
        group_layers(placed, n);
    for (size_t i = 0; i < n; i++)
        order[i] = placed[i].entry;
    free(placed);
    *out = order;
    return TOOL_OK;
}

/* What a net is besides its blobs; ferry says how much of it there is and knows no more. */
static bool is_definition(const ferry_io *from, const char *key)
{
    return ferry_io_get_format(from) == FERRY_IO_CAFFEMODEL && strcmp(key, "definition") == 0;
}

int files_copy_metadata(ferry_io *from, ferry_io_writer *to)
{
    for (int64_t i = 0; i < ferry_io_metadata_count(from); i++) {
        const char *key, *value;
        int err = ferry_io_metadata_at(from, i, &key, &value);

        if (!err && is_definition(from, key)) {
            (void)tool_error(TOOL_OK, "note: of the net's definition %s are not carried over",
                             value);
            continue;
        }
        if (!err)
            err = ferry_io_set_metadata(to, key, value);
        if (err == FERRY_EUNSUPPORTED)
            (void)tool_error(TOOL_OK, "note: %s", ferry_last_error());
        else if (err)
            return err;
    }
    return FERRY_OK;
}

/* ---- while it runs -------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void files_progress_begin(struct files_progress *p, const char *what, uint64_t total)
{
    p->shown = isatty(STDERR_FILENO) == 1;
    p->what = what;
    p->total = total;
    p->done = 0;
    p->percent = -1;
    p->begin = seconds();
}

void files_progress_step(struct files_progress *p, uint64_t bytes)
{
    static const char bar[] = "########################################";
    const int width = (int)sizeof(bar) - 1;
    int percent;

    p->done += bytes;
    percent = p->total ? (int)((double)p->done * 100 / (double)p->total) : 100;
    if (!p->shown || percent == p->percent || seconds() - p->begin < 1)
        return;
    p->percent = percent;
    fprintf(stderr, "\r%s [%-*.*s] %3d%%", p->what, width, percent * width / 100, bar, percent);
    fflush(stderr);
}

void files_progress_end(struct files_progress *p)
{
    if (p->shown && p->percent >= 0)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static volatile sig_atomic_t interrupt;

static void on_signal(int number)
{
    interrupt = number;
}

void files_catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

bool files_interrupted(void)
{
    return interrupt != 0;
}

void files_die_if_interrupted(void)
{
    if (!interrupt)
        return;
    signal(interrupt, SIG_DFL);
    raise(interrupt);
}

/* ---- tiles ---------------------------------------------------------------------------------- */

static int copy_half(ferry_io *from, const ferry_io_entry *entry, bool diff, ferry_io_writer *to,
                     void *tile, struct files_progress *p)
{
    size_t size = ferry_dtype_size(entry->dtype);
    int64_t most = (int64_t)(FILES_PIECE / size);

    for (int64_t start = 0; start < entry->count; start += most) {
        int64_t n = entry->count - start < most ? entry->count - start : most;
        int err;

        if (files_interrupted())
            return FERRY_EBUSY;
        err = diff ? ferry_io_read_diff_values(from, entry, start, n, tile)
                   : ferry_io_read_values(from, entry, start, n, tile);
        if (!err)
            err = ferry_io_write_values(to, tile, (size_t)n * size);
        if (err)
            return err;
        files_progress_step(p, (uint64_t)n * size);
    }
    return FERRY_OK;
}

int files_copy(ferry_io *from, const ferry_io_entry *entry, bool with_diff, ferry_io_writer *to,
               void *tile, struct files_progress *p)
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
