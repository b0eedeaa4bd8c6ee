/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of arrays in the types that a file stores. */
#include "writer.h"

#include "rows.h"

#include "common/rows.h"

#include <stdlib.h>
#include <string.h>

/* The type in which an array should be stored. Only arrays with rows, and no diff, have them. */
static enum ferry__storage storage_of(const ferry_io_entry *e, const char *name)
{
    if (!name || strcmp(name, FERRY_IO_I8_ROWS) != 0)
        return ferry__storage_named(name);
    return e->rank > 0 && e->count > 0 && !e->has_diff ? FERRY__STORED_I8_ROWS
                                                       : FERRY__STORED_AS_DTYPE;
}

void ferry__writer_set_storage(const ferry_io_writer *w, struct ferry__out_array *array,
                               const char *name)
{
    static const ferry_dtype alike[] = { [1] = FERRY_U8, [2] = FERRY_F16, [8] = FERRY_I64 };
    enum ferry__storage storage = storage_of(&array->entry, name);
    size_t size;

    if (storage && (ferry__storage_dtype(storage) != array->entry.dtype || !w->ops->can_store ||
                    !w->ops->can_store(storage)))
        storage = FERRY__STORED_AS_DTYPE;
    size = ferry__storage_size(storage, array->entry.dtype);
    array->storage = storage;
    array->alike = storage ? alike[size] : array->entry.dtype;
    array->bytes = storage == FERRY__STORED_I8_ROWS
                       ? ferry__rows_size(array->entry.shape, array->entry.count)
                       : (uint64_t)array->entry.count * size;
    array->entry.storage = ferry__storage_name(storage);
    array->entry.unreadable = NULL;
}

static int put_stored(ferry_io_writer *w, const void *values, size_t size)
{
    if (w->ops->values)
        return w->ops->values(w, w->current, values, size);
    return ferry__io_out_values(&w->out, values, size, w->current->alike, NULL);
}

/* The number of elements that are narrowed in one step. */
#define NARROW_PIECE 8192

static int put_narrow(ferry_io_writer *w, const unsigned char *values, size_t size)
{
    const struct ferry__out_array *array = w->current;
    size_t wide = ferry_dtype_size(array->entry.dtype);
    uint64_t narrow[NARROW_PIECE];
    int err = FERRY_OK;

    for (size_t left = size / wide, n; left > 0 && !err; left -= n, values += n * wide) {
        int64_t wrong;

        n = left < NARROW_PIECE ? left : NARROW_PIECE;
        wrong = ferry__storage_narrow(array->storage, values, (int64_t)n, narrow);
        if (wrong >= 0)
            return ferry_error_set(FERRY_EOVERFLOW, "%s: array %.200s: a value is beyond %s",
                                   w->out.shown, array->entry.name, array->entry.storage);
        err = put_stored(w, narrow, n * ferry__storage_size(array->storage, array->entry.dtype));
    }
    return err;
}

/* Rounds and stores a row; `bytes` has room for its head and its integers. */
static int put_row(ferry_io_writer *w, const float *row, int64_t each, unsigned char *bytes)
{
    float magnitude = ferry__row_magnitude(row, each);

    for (int64_t i = 0; i < each; i++)
        if (!(row[i] - row[i] == 0))
            return ferry_error_set(FERRY_EOVERFLOW, "%s: array %.200s: a value is not finite",
                                   w->out.shown, w->current->entry.name);
    ferry__rows_put(magnitude, bytes);
    ferry__row_round(row, each, magnitude, (int8_t *)bytes + FERRY__ROWS_HEAD);
    return put_stored(w, bytes, FERRY__ROWS_HEAD + (size_t)each);
}

/* Collects values until a row is complete. The row is followed by the room for its bytes. */
static int put_rows(ferry_io_writer *w, const unsigned char *values, size_t size)
{
    const ferry_io_entry *e = &w->current->entry;
    size_t each = (size_t)(e->count / e->shape[0]), row = each * sizeof(float);
    size_t have = (size_t)((w->current->given - w->left) % row), some;
    int err = FERRY_OK;

    if (!w->row)
        w->row = malloc(row + FERRY__ROWS_HEAD + each);
    if (!w->row)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    for (; size > 0 && !err; size -= some, values += some) {
        some = row - have < size ? row - have : size;
        memcpy((char *)w->row + have, values, some);
        have = (have + some) % row;
        if (have == 0)
            err = put_row(w, w->row, (int64_t)each, (unsigned char *)w->row + row);
    }
    if (have == 0) { /* the next array's rows may be longer */
        free(w->row);
        w->row = NULL;
    }
    return err;
}

int ferry__writer_put(ferry_io_writer *w, const void *values, size_t size)
{
    enum ferry__storage storage = w->current->storage;

    return storage == FERRY__STORED_I8_ROWS ? put_rows(w, values, size)
           : storage                        ? put_narrow(w, values, size)
                                            : put_stored(w, values, size);
}
