/* SPDX-License-Identifier: BSD-2-Clause */
#include "hdf5_large.h"

#include "inflate.h"
#include "lzf.h"

#include <string.h>

/* The number of bytes that are decoded in one step. */
#define PIECE 65536

/* The filters that are not masked; only the order shuffle, compression, checksum is supported. */
struct plan {
    bool shuffled, summed;
    unsigned compressor; /* 0: not compressed */
};

static int fail(const struct ferry__hdf5_large *self, const char *what)
{
    return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: a chunk: %s", self->io->file.path,
                           self->set->path, what);
}

int ferry__hdf5_large_refuse(const struct ferry_io *io, const struct ferry__hdf5_set *set)
{
    uint64_t size =
        (uint64_t)ferry__io_count(set->rank, set->chunk, 1) * (uint64_t)set->element.size;

    return ferry_error_set(FERRY_EUNSUPPORTED,
                           "%s: %.200s: chunks of %llu bytes, through filters for which that is "
                           "too much memory",
                           io->file.path, set->path, (unsigned long long)size);
}

static bool make_plan(const struct ferry__hdf5_set *set, uint32_t mask, struct plan *out)
{
    const struct ferry__hdf5_filters *f = &set->filters;

    *out = (struct plan){ .shuffled = false };
    for (unsigned i = 0; i < f->count; i++) {
        if (mask >> i & 1)
            continue;
        if (out->summed)
            return false;
        if (f->id[i] == H5Z_FILTER_FLETCHER32)
            out->summed = true;
        else if (out->compressor)
            return false;
        else if (f->id[i] != H5Z_FILTER_SHUFFLE)
            out->compressor = f->id[i];
        else if (out->shuffled || f->element != set->element.size)
            return false;
        else
            out->shuffled = true;
    }
    return true;
}

/* ---- the decompressed bytes ----------------------------------------------------------------- */

static uint64_t size_of(const struct ferry__hdf5_large *self)
{
    return (uint64_t)self->elements * self->set->element.size;
}

static int inflate_all(struct ferry__hdf5_large *self, const unsigned char *raw, uint64_t raw_size)
{
    struct ferry__inflate *inflate = ferry__inflate_open(raw, raw_size, 1);
    unsigned char bytes[PIECE];
    int err = FERRY_OK;

    if (!inflate)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", self->io->file.path);
    for (uint64_t left = size_of(self); left > 0 && !err;) {
        size_t n = left < PIECE ? (size_t)left : PIECE;

        if (ferry__inflate_read(inflate, bytes, n) != 0)
            err = fail(self, "its deflated bytes are damaged or truncated");
        else
            err = ferry__scratch_write(&self->scratch, bytes, n);
        left -= n;
    }
    ferry__inflate_close(inflate);
    return err;
}

static int take_lzf(void *arg, const unsigned char *bytes, size_t size)
{
    struct ferry__hdf5_large *self = arg;

    if (size > size_of(self) - self->scratch.size)
        return fail(self, "it is longer than the dataset's header claims");
    return ferry__scratch_write(&self->scratch, bytes, size);
}

static int undo_lzf(struct ferry__hdf5_large *self, const unsigned char *raw, uint64_t raw_size)
{
    int err = ferry__lzf_stream(raw, (size_t)raw_size, take_lzf, self);

    if (err > 0 || (!err && self->scratch.size != size_of(self)))
        return fail(self, "its LZF bytes are damaged");
    return err;
}

int ferry__hdf5_large_begin(struct ferry__hdf5_large *self, const struct ferry_io *io,
                            const struct ferry__hdf5_set *set, uint32_t mask,
                            const unsigned char *raw, uint64_t raw_size)
{
    struct plan plan;
    int err;

    *self = (struct ferry__hdf5_large){ .io = io, .set = set, .scratch = { .fd = -1 } };
    self->elements = ferry__io_count(set->rank, set->chunk, 1);
    if (!make_plan(set, mask, &plan))
        return ferry__hdf5_large_refuse(io, set);
    self->shuffled = plan.shuffled;
    if (plan.summed && raw_size < FERRY__HDF5_CHECKSUM)
        return fail(self, "its checksum is wrong");
    if (plan.summed) {
        raw_size -= FERRY__HDF5_CHECKSUM;
        if (!ferry__hdf5_checksum_fits(raw, raw_size))
            return fail(self, "its checksum is wrong");
    }
    if (!plan.compressor) {
        self->bytes = raw;
        return raw_size == size_of(self) ? FERRY_OK
                                         : fail(self, "its size is not the one in the dataset's "
                                                      "header");
    }
    err = ferry__scratch_begin(&self->scratch, io->file.path);
    if (err)
        return err;
    return plan.compressor == FERRY__HDF5_LZF ? undo_lzf(self, raw, raw_size)
                                              : inflate_all(self, raw, raw_size);
}

/* ---- the unshuffled bytes ------------------------------------------------------------------- */

static int copy(const struct ferry__hdf5_large *self, uint64_t at, size_t n, unsigned char *out)
{
    if (!self->bytes)
        return ferry__scratch_read_at(self->scratch.fd, self->io->file.path, at, out, n);
    memcpy(out, self->bytes + at, n);
    return FERRY_OK;
}

int ferry__hdf5_large_read(const struct ferry__hdf5_large *self, int64_t first, int64_t n,
                           unsigned char *out)
{
    size_t size = self->set->element.size;
    unsigned char plane[FERRY__HDF5_LARGE_PIECE];
    int err = FERRY_OK;

    if (!self->shuffled)
        return copy(self, (uint64_t)first * size, (size_t)n * size, out);
    for (size_t k = 0; k < size && !err; k++) {
        err = copy(self, (uint64_t)((int64_t)k * self->elements + first), (size_t)n, plane);
        for (int64_t i = 0; i < n && !err; i++)
            out[i * (int64_t)size + (int64_t)k] = plane[i];
    }
    return err;
}

void ferry__hdf5_large_end(struct ferry__hdf5_large *self)
{
    ferry__scratch_end(&self->scratch);
}
