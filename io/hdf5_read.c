/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the values of a dataset. Chunks are read as stored and decoded here, one at a time, into
 * the requested range of elements. A band, all chunks with the same index on the first axis, is
 * cached, since a program that reads in tiles returns for the rest. Chunks and bands too large for
 * memory go through an unnamed file.
 */
#define _GNU_SOURCE
#include "hdf5_set.h"

#include "hdf5_large.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The largest decoded chunk, and the largest band, held in memory. */
#define MEMORY (12u * 1024 * 1024)

/* The number of bytes of a chunk that are read from a file in one step. */
#define PIECE 65536

static int fail(const struct ferry_io *io, const struct ferry__hdf5_set *set, const char *what)
{
    if (!*what)
        return ferry_error_set(FERRY_ENOMEM, "%s: %.200s: out of memory", io->file.path, set->path);
    return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: a chunk: %s", io->file.path, set->path,
                           what);
}

static uint64_t memory_for(const struct ferry_io *io)
{
    return MEMORY + io->file.size / 8;
}

/* ---- windows -------------------------------------------------------------------------------- */

void ferry__hdf5_window_clear(struct ferry__hdf5_window *window)
{
    free(window->bytes);
    if (window->fd >= 0)
        close(window->fd);
    *window = (struct ferry__hdf5_window){ .fd = -1 };
}

/* Stores the elements from row-major index `index` on that are in the requested range. */
static int put(const struct ferry_io *io, const struct ferry__hdf5_window *w, int64_t index,
               const unsigned char *bytes, int64_t n)
{
    int64_t size = (int64_t)w->of->element.size;

    if (index < w->start) {
        bytes += (w->start - index) * size;
        n -= w->start - index;
        index = w->start;
    }
    if (n > w->start + w->count - index)
        n = w->start + w->count - index;
    if (n <= 0)
        return FERRY_OK;
    if (w->fd >= 0)
        return ferry__scratch_write_at(w->fd, io->file.path, (uint64_t)((index - w->start) * size),
                                       bytes, (size_t)(n * size));
    memcpy(w->bytes + (index - w->start) * size, bytes, (size_t)(n * size));
    return FERRY_OK;
}

/* ---- one chunk ------------------------------------------------------------------------------ */

struct chunk {
    struct ferry_io *io;
    const struct ferry__hdf5_set *set;
    const struct ferry__hdf5_window *to;
    hid_t id;
    hsize_t origin[FERRY_MAX_AXES];
    int64_t elements; /* the elements of a whole chunk; those beyond the edge of the dataset are not
                       * used */
};

/* Copies elements first … first + n − 1 of the chunk, row by row, to their places. */
static int scatter(const struct chunk *c, const unsigned char *bytes, int64_t first, int64_t n)
{
    const struct ferry__hdf5_set *set = c->set;
    int last = set->rank - 1;
    int err = FERRY_OK;

    while (n > 0 && !err) {
        int64_t row = set->chunk[last] - first % set->chunk[last], rest = first, index = 0,
                step = 1;
        int64_t length;
        bool inside = true;

        if (row > n)
            row = n;
        length = row;
        for (int i = last; i >= 0; i--) {
            int64_t at = (int64_t)c->origin[i] + rest % set->chunk[i];

            rest /= set->chunk[i];
            inside = inside && at < set->shape[i];
            if (i == last && length > set->shape[i] - at)
                length = set->shape[i] - at;
            index += at * step;
            step *= set->shape[i];
        }
        if (inside)
            err = put(c->io, c->to, index, bytes, length);
        bytes += row * (int64_t)set->element.size;
        first += row;
        n -= row;
    }
    return err;
}

static int scatter_swapped(const struct chunk *c, unsigned char *bytes, int64_t first, int64_t n)
{
    if (c->set->element.swap)
        ferry__swap_bytes(bytes, n, c->set->element.size);
    return scatter(c, bytes, first, n);
}

/* Stores the fill value for a chunk that was never written. */
static int scatter_fill(const struct chunk *c)
{
    size_t size = c->set->element.size;
    unsigned char bytes[PIECE];
    int64_t most = PIECE / (int64_t)size;
    const unsigned char zeros[sizeof(c->set->fill)] = { 0 };
    int err = FERRY_OK;

    if (c->to->fd >= 0 && memcmp(c->set->fill, zeros, size) == 0)
        return FERRY_OK; /* unwritten ranges already read as zeros */
    for (int64_t i = 0; i < most; i++)
        memcpy(bytes + i * (int64_t)size, c->set->fill, size);
    for (int64_t at = 0; at < c->elements && !err; at += most)
        err = scatter(c, bytes, at, c->elements - at < most ? c->elements - at : most);
    return err;
}

static int scatter_large(const struct chunk *c, uint32_t mask, const unsigned char *raw,
                         uint64_t raw_size)
{
    struct ferry__hdf5_large large;
    unsigned char bytes[PIECE];
    int64_t most = PIECE / (int64_t)c->set->element.size;
    int err = ferry__hdf5_large_begin(&large, c->io, c->set, mask, raw, raw_size);

    for (int64_t at = 0; at < c->elements && !err; at += most) {
        int64_t n = c->elements - at < most ? c->elements - at : most;

        err = ferry__hdf5_large_read(&large, at, n, bytes);
        if (!err)
            err = scatter_swapped(c, bytes, at, n);
    }
    ferry__hdf5_large_end(&large);
    return err;
}

/* ---- from the file -------------------------------------------------------------------------- */

static bool is_partial(const struct chunk *c)
{
    for (int i = 0; i < c->set->rank; i++)
        if ((int64_t)c->origin[i] > c->set->shape[i] - c->set->chunk[i])
            return true;
    return false;
}

static int decode(const struct chunk *c, uint32_t mask, unsigned char *raw, uint64_t raw_size)
{
    uint64_t size = (uint64_t)c->elements * c->set->element.size;
    const char *wrong;
    unsigned char *bytes;
    int err;

    if (c->set->plain_edges && is_partial(c))
        mask = UINT32_MAX;
    if (mask == UINT32_MAX || c->set->filters.count == 0) /* the chunk is stored without filters */
        return raw_size == size
                   ? scatter_swapped(c, raw, 0, c->elements)
                   : fail(c->io, c->set, "its size is not the one in the dataset's header");
    if (size > memory_for(c->io))
        return scatter_large(c, mask, raw, raw_size);
    bytes = malloc((size_t)size);
    wrong = bytes ? ferry__hdf5_unfilter(&c->set->filters, mask, raw, raw_size, bytes, size) : "";
    err = wrong ? fail(c->io, c->set, wrong) : scatter_swapped(c, bytes, 0, c->elements);
    free(bytes);
    return err;
}

/* Reads a chunk through libhdf5, which undoes its filters. */
static int read_by_library(const struct chunk *c)
{
    uint64_t size = (uint64_t)c->elements * c->set->element.size;
    hsize_t extent[FERRY_MAX_AXES], shape[FERRY_MAX_AXES], zero[FERRY_MAX_AXES] = { 0 };
    hid_t type = H5Dget_type(c->id), space = H5Dget_space(c->id), memory = -1;
    unsigned char *bytes = malloc((size_t)size);
    int result = -1, err;

    for (int i = 0; i < c->set->rank; i++) {
        int64_t left = c->set->shape[i] - (int64_t)c->origin[i];

        shape[i] = (hsize_t)c->set->chunk[i];
        extent[i] = (hsize_t)(left < c->set->chunk[i] ? left : c->set->chunk[i]);
    }
    if (bytes)
        memory = H5Screate_simple(c->set->rank, shape, NULL);
    if (memory >= 0 && type >= 0 && space >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, c->origin, NULL, extent, NULL) >= 0 &&
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, extent, NULL) >= 0)
        result = H5Dread(c->id, type, memory, space, H5P_DEFAULT, bytes);
    if (!bytes)
        err = fail(c->io, c->set, "");
    else if (result < 0)
        err = ferry__hdf5_fail(c->io, FERRY_EFORMAT, c->set->path, "its values cannot be read");
    else
        err = scatter_swapped(c, bytes, 0, c->elements);
    if (memory >= 0)
        H5Sclose(memory);
    H5Sclose(space);
    H5Tclose(type);
    free(bytes);
    return err;
}

static int read_chunk(const struct chunk *c)
{
    hsize_t raw_size = 0;
    unsigned char *raw;
    uint32_t mask = 0;
    int err;

    if (H5Dget_chunk_storage_size(c->id, c->origin, &raw_size) < 0 || raw_size == 0)
        return scatter_fill(c); /* the chunk was never written */
    if (raw_size > c->io->file.size)
        return fail(c->io, c->set, "it claims to be longer than the file");
    if (c->set->location == FERRY__HDF5_LIBRARY)
        return (uint64_t)c->elements * c->set->element.size > memory_for(c->io)
                   ? ferry__hdf5_large_refuse(c->io, c->set)
                   : read_by_library(c);
    raw = malloc((size_t)raw_size);
    if (!raw)
        return fail(c->io, c->set, "");
    if (H5Dread_chunk(c->id, H5P_DEFAULT, c->origin, &mask, raw) < 0)
        err = ferry__hdf5_fail(c->io, FERRY_EFORMAT, c->set->path, "a chunk cannot be read");
    else
        err = decode(c, mask, raw, raw_size);
    free(raw);
    return err;
}

/* ---- the chunks of a range ------------------------------------------------------------------ */

/* Row-major indices of the chunk's first element, and of its last element inside the dataset. */
static void ends_of(const struct chunk *c, int64_t *out_first, int64_t *out_last)
{
    int64_t step = 1;

    *out_first = *out_last = 0;
    for (int i = c->set->rank - 1; i >= 0; i--) {
        int64_t left = c->set->shape[i] - (int64_t)c->origin[i];

        *out_first += (int64_t)c->origin[i] * step;
        *out_last +=
            ((int64_t)c->origin[i] + (left < c->set->chunk[i] ? left : c->set->chunk[i]) - 1) *
            step;
        step *= c->set->shape[i];
    }
}

/* Moves to the next chunk's origin, in row-major order; false after the last. */
static bool next_origin(struct chunk *c)
{
    for (int i = c->set->rank - 1; i >= 0; i--) {
        c->origin[i] += (hsize_t)c->set->chunk[i];
        if ((int64_t)c->origin[i] < c->set->shape[i])
            return true;
        c->origin[i] = 0;
    }
    return false;
}

/* The number of elements in one step along the first axis. */
static int64_t inner(const struct ferry__hdf5_set *set)
{
    int64_t n = 1;

    for (int i = 1; i < set->rank; i++)
        n *= set->shape[i];
    return n;
}

static int fill_window(struct ferry_io *io, hid_t id, const struct ferry__hdf5_window *w)
{
    const struct ferry__hdf5_set *set = w->of;
    struct chunk c = { .io = io, .set = set, .to = w, .id = id };
    int64_t first, last;
    int err = FERRY_OK;

    c.elements = ferry__io_count(set->rank, set->chunk, 1);
    c.origin[0] = (hsize_t)(w->start / inner(set) / set->chunk[0] * set->chunk[0]);
    do {
        ends_of(&c, &first, &last);
        if ((int64_t)c.origin[0] * inner(set) >= w->start + w->count)
            break;
        if (last >= w->start && first < w->start + w->count)
            err = read_chunk(&c);
    } while (!err && next_origin(&c));
    return err;
}

/* Caches the band that contains the element in the window. */
static int keep_band(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set, int64_t at,
                     struct ferry__hdf5_window *out)
{
    int64_t band = inner(set) * set->chunk[0];
    struct ferry__hdf5_window w = { .of = set, .start = at / band * band, .fd = -1 };
    struct ferry__scratch scratch = { .fd = -1 };
    int err = FERRY_OK;

    ferry__hdf5_window_clear(out);
    w.count = set->count - w.start < band ? set->count - w.start : band;
    if ((uint64_t)w.count * set->element.size <= memory_for(io)) {
        w.bytes = malloc((size_t)w.count * set->element.size);
        if (!w.bytes)
            return fail(io, set, "");
    } else {
        err = ferry__scratch_begin(&scratch, io->file.path);
        w.fd = scratch.fd;
    }
    if (!err)
        err = fill_window(io, id, &w);
    if (err)
        ferry__hdf5_window_clear(&w);
    else
        *out = w;
    return err;
}

/* ---- values --------------------------------------------------------------------------------- */

static int read_chunks(struct ferry_io *io, hid_t id, struct ferry__hdf5_window *window,
                       const struct ferry__hdf5_set *set, int64_t start, int64_t count,
                       unsigned char *out)
{
    size_t size = set->element.size;
    int err = FERRY_OK;

    if (count == set->count) { /* each chunk is decoded once, directly into the destination */
        const struct ferry__hdf5_window all = { set, 0, count, out, -1 };

        return fill_window(io, id, &all);
    }
    while (count > 0 && !err) {
        int64_t n;

        if (window->of != set || start < window->start || start >= window->start + window->count)
            err = keep_band(io, id, set, start, window);
        if (err)
            break;
        n = window->start + window->count - start;
        n = n < count ? n : count;
        if (window->fd >= 0)
            err = ferry__scratch_read_at(window->fd, io->file.path,
                                         (uint64_t)(start - window->start) * size, out,
                                         (size_t)n * size);
        else
            memcpy(out, window->bytes + (size_t)(start - window->start) * size, (size_t)n * size);
        start += n;
        count -= n;
        out += (size_t)n * size;
    }
    return err;
}

/* Reads values in the dataset's header: at most 64 KiB. */
static int read_compact(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set,
                        int64_t start, int64_t count, void *out)
{
    size_t size = set->element.size;
    unsigned char *all = malloc((size_t)set->count * size);
    hid_t type = H5Dget_type(id);
    int err = FERRY_OK;

    if (!all)
        err = fail(io, set, "");
    else if (H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all) < 0)
        err = ferry__hdf5_fail(io, FERRY_EFORMAT, set->path, "its values cannot be read");
    else
        memcpy(out, all + (size_t)start * size, (size_t)count * size);
    if (!err && set->element.swap)
        ferry__swap_bytes(out, count, size);
    H5Tclose(type);
    free(all);
    return err;
}

int ferry__hdf5_set_read(struct ferry_io *io, hid_t file, struct ferry__hdf5_window *window,
                         const struct ferry__hdf5_set *set, int64_t start, int64_t count, void *out)
{
    size_t size = set->element.size;
    hid_t id;
    int err;

    if (set->location == FERRY__HDF5_UNWRITTEN) {
        for (int64_t i = 0; i < count; i++)
            memcpy((unsigned char *)out + (size_t)i * size, set->fill, size);
        return FERRY_OK;
    }
    id = H5Dopen2(file, set->path, H5P_DEFAULT);
    if (id < 0)
        return ferry__hdf5_fail(io, FERRY_EFORMAT, set->path, "cannot be opened");
    err = set->location == FERRY__HDF5_COMPACT
              ? read_compact(io, id, set, start, count, out)
              : read_chunks(io, id, window, set, start, count, out);
    H5Dclose(id);
    return err;
}

static void try_values(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set)
{
    struct ferry__hdf5_window window = { .fd = -1 };
    int64_t most = PIECE / (int64_t)set->element.size;
    unsigned char bytes[PIECE];
    int err = FERRY_OK;

    for (int64_t at = 0; at < set->count && !err; at += most)
        err = read_chunks(io, id, &window, set, at, set->count - at < most ? set->count - at : most,
                          bytes);
    ferry__hdf5_window_clear(&window);
}

void ferry__hdf5_set_try(struct ferry_io *io, hid_t id, const struct ferry__hdf5_set *set)
{
    bool chunks = set->location == FERRY__HDF5_CHUNKS || set->location == FERRY__HDF5_LIBRARY;
    hsize_t n = 0;
    hid_t space;

    if (set->unreadable || !chunks)
        return;
    space = H5Dget_space(id);
    if (space >= 0) {
        (void)H5Dget_num_chunks(id, space, &n);
        H5Sclose(space);
    }
    if (set->location == FERRY__HDF5_LIBRARY)
        try_values(io, id, set);
}
