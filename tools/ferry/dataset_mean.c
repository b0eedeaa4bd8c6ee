/* SPDX-License-Identifier: BSD-2-Clause */
#include "dataset.h"

#include <ferry/io.h>

#include <stdlib.h>
#include <string.h>

int dataset_mean_add(struct dataset_mean *m, const struct dataset_datum *d)
{
    int64_t shape[3] = { d->channels, d->height, d->width };
    size_t i;

    if (!m->sums) {
        m->sums = calloc(d->size, sizeof *m->sums);
        if (!m->sums)
            return ferry_error_set(FERRY_ENOMEM, "out of memory for a mean of %zu values", d->size);
        memcpy(m->shape, shape, sizeof shape);
    }
    if (memcmp(m->shape, shape, sizeof shape) != 0)
        return ferry_error_set(FERRY_ESHAPE,
                               "%lld x %lld x %lld, but the previous ones are %lld x %lld x %lld: "
                               "a mean requires pictures of one size (--resize)",
                               (long long)shape[0], (long long)shape[1], (long long)shape[2],
                               (long long)m->shape[0], (long long)m->shape[1],
                               (long long)m->shape[2]);
    for (i = 0; i < d->size; i++)
        m->sums[i] += d->bytes[i];
    m->count++;
    return FERRY_OK;
}

/* Writes a BlobProto of 1 x channels x height x width, like compute_image_mean. */
int dataset_mean_write(const struct dataset_mean *m, const char *path)
{
    int64_t shape[4] = { 1, m->shape[0], m->shape[1], m->shape[2] };
    ferry_io_entry entry = { .struct_size = sizeof entry,
                             .name = "mean",
                             .dtype = FERRY_F32,
                             .rank = 4,
                             .shape = shape };
    size_t i, n = (size_t)(m->shape[0] * m->shape[1] * m->shape[2]);
    float *values = calloc(n, sizeof *values);
    ferry_io_writer *w = NULL;
    int err = values ? ferry_io_writer_create(path, FERRY_IO_BLOBPROTO, &w)
                     : ferry_error_set(FERRY_ENOMEM, "out of memory for a mean of %zu values", n);

    for (i = 0; !err && i < n; i++)
        values[i] = (float)(m->sums[i] / (double)m->count);
    if (!err)
        err = ferry_io_writer_declare(w, &entry);
    if (!err)
        err = ferry_io_writer_write_values(w, values, n * sizeof *values);
    free(values);
    if (!err)
        return ferry_io_writer_commit(w);
    ferry_io_writer_abort(w);
    return err;
}
