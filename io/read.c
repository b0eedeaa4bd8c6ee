/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads an array of a file into a blob, or into bytes of the caller. */
#include "reader.h"

#include "read.h"

/*
 * The minimum size of adopted values: smaller values are copied, since a mapping of their own costs
 * more.
 */
#define ADOPT_THRESHOLD (64u * 1024)

/* ---- values --------------------------------------------------------------------------------- */

static int array_of(const struct ferry_io *io, const ferry_io_entry *entry,
                    const struct ferry__io_array **out)
{
    if (!io || !entry)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_read: %s is NULL", io ? "entry" : "io");
    if (entry->index < 0 || entry->index >= io->count ||
        io->table[entry->index]->entry.name != entry->name)
        return ferry_error_set(FERRY_EINVAL, "%s: the entry belongs to another file",
                               io->file.path);
    *out = io->table[entry->index];
    return FERRY_OK;
}

/* Reads values in their storage type. */
static int read_stored(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                       int64_t start, int64_t count, void *out)
{
    const struct ferry__values *values = diff ? &array->diff : &array->data;
    int err;

    if (values->encoding == FERRY__VALUES_OWN)
        return io->reader->read(io, array, diff, start, count, out);
    err = ferry__values_read(&io->file, values, array->entry.rank, array->entry.shape, start, count,
                             out);
    return err || !io->reader->check ? err : io->reader->check(io, array, start, count, out);
}

/* The number of bytes that are widened in one step. */
#define NARROW_PIECE 65536

static int read_narrow(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                       int64_t start, int64_t count, unsigned char *out)
{
    const struct ferry__values *values = diff ? &array->diff : &array->data;
    uint64_t narrow[NARROW_PIECE / sizeof(uint64_t)];
    int64_t most = NARROW_PIECE / (int64_t)ferry__values_element(values), n, wrong;

    for (; count > 0; start += n, count -= n) {
        int err;

        n = count < most ? count : most;
        err = read_stored(io, array, diff, start, n, narrow);
        if (err)
            return err;
        wrong = ferry__storage_widen(values->storage, narrow, n, out);
        if (wrong >= 0)
            return ferry_error_set(FERRY_EOVERFLOW, "%s: %.200s: element %lld of %s is beyond %s",
                                   io->file.path, array->entry.name, (long long)(start + wrong),
                                   ferry__storage_name(values->storage),
                                   ferry_dtype_name(values->dtype));
        out += (size_t)n * ferry_dtype_size(values->dtype);
    }
    return FERRY_OK;
}

static int read_range(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                      int64_t start, int64_t count, void *out)
{
    const struct ferry__values *values = diff ? &array->diff : &array->data;

    if (count == 0)
        return FERRY_OK;
    return values->storage ? read_narrow(io, array, diff, start, count, out)
                           : read_stored(io, array, diff, start, count, out);
}

static int unreadable(const struct ferry_io *io, const struct ferry__io_array *array)
{
    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: %.200s: %s", io->file.path,
                           array->entry.name, array->entry.storage, array->entry.unreadable);
}

static int read_checked(struct ferry_io *io, const ferry_io_entry *entry, bool diff, int64_t start,
                        int64_t count, void *out)
{
    const struct ferry__io_array *array;
    int err = array_of(io, entry, &array);

    if (err)
        return err;
    if (!out && count != 0)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_read_values: out is NULL");
    if (diff && !array->entry.has_diff)
        return ferry_error_set(FERRY_EINVAL, "%s: %.100s has no diff", io->file.path,
                               array->entry.name);
    if (array->entry.unreadable)
        return unreadable(io, array);
    if (start < 0 || count < 0 || start > array->entry.count || count > array->entry.count - start)
        return ferry_error_set(FERRY_EINVAL, "%s: %.100s has no elements %lld … %lld + %lld",
                               io->file.path, array->entry.name, (long long)start, (long long)start,
                               (long long)count);
    return read_range(io, array, diff, start, count, out);
}

int ferry_io_read_values(ferry_io *io, const ferry_io_entry *entry, int64_t start, int64_t count,
                         void *out)
{
    return read_checked(io, entry, false, start, count, out);
}

int ferry_io_read_diff_values(ferry_io *io, const ferry_io_entry *entry, int64_t start,
                              int64_t count, void *out)
{
    return read_checked(io, entry, true, start, count, out);
}

int ferry_io_read_integers(ferry_io *io, const ferry_io_entry *entry, int8_t *integers,
                           float *magnitudes)
{
    const struct ferry__io_array *array;
    struct ferry__rows rows;
    int err = array_of(io, entry, &array);

    if (err)
        return err;
    if (array->data.encoding != FERRY__VALUES_ROWS)
        return ferry_error_set(FERRY_EINVAL,
                               "%s: %.100s is stored as %.100s, not as " FERRY_IO_I8_ROWS,
                               io->file.path, array->entry.name, array->entry.storage);
    rows = ferry__values_rows(&io->file, &array->data, array->entry.shape[0]);
    return ferry__rows_integers(&rows, array->entry.shape[0], integers, magnitudes);
}

/* ---- limits --------------------------------------------------------------------------------- */

static uint64_t max_bytes = FERRY_IO_MAX_BYTES;

void ferry_io_set_max_bytes(uint64_t bytes)
{
    __atomic_store_n(&max_bytes, bytes ? bytes : FERRY_IO_MAX_BYTES, __ATOMIC_RELAXED);
}

uint64_t ferry_io_max_bytes(void)
{
    return __atomic_load_n(&max_bytes, __ATOMIC_RELAXED);
}

/* The size of an array's values if its format decodes them; the file may be much smaller. */
static uint64_t decoded(const struct ferry__io_array *array, const struct ferry__values *values)
{
    uint64_t size = (uint64_t)array->entry.count * ferry_dtype_size(values->dtype);

    return values->encoding == FERRY__VALUES_OWN && size > values->size ? size : 0;
}

static int check_limit(const struct ferry_io *io, const struct ferry__io_array *array)
{
    uint64_t most = ferry_io_max_bytes(), size = decoded(array, &array->data);

    if (array->entry.has_diff)
        size += decoded(array, &array->diff);
    return size <= most
               ? FERRY_OK
               : ferry_error_set(FERRY_EOVERFLOW,
                                 "%s: array %.200s: %llu bytes when decoded exceed the limit of "
                                 "%llu (ferry_io_set_max_bytes, --max-bytes)",
                                 io->file.path, array->entry.name, (unsigned long long)size,
                                 (unsigned long long)most);
}

/* ---- blobs ---------------------------------------------------------------------------------- */

/*
 * Tries to adopt the file's pages. 1: adopted; 0: the caller copies; negative: the checksum of the
 * values is wrong.
 */
static int try_adopt(struct ferry_io *io, const struct ferry__io_array *array, ferry_blob *b)
{
    const struct ferry__values *v = &array->data;
    ferry_memory *memory;
    void *bytes, *mapping;
    ferry_ref ref = { NULL, 0 };
    int err = FERRY_OK;

    if (!io->reader->adoptable || v->size < ADOPT_THRESHOLD || !ferry__values_adoptable(v))
        return 0;
    if (io->reader->check)
        err = io->reader->check(io, array, 0, array->entry.count, NULL);
    if (err)
        return err;
    memory = ferry_blob_data_memory(b);
    if (!memory || ferry__io_file_map_private(&io->file, (uint64_t)(v->bytes - io->file.bytes),
                                              v->size, &bytes, &mapping) != FERRY_OK)
        return 0;
    ref.handle = bytes;
    if (ferry_memory_adopt(memory, NULL, ref, (size_t)v->size, 0, ferry__io_unmap, mapping) == 0)
        return 1;
    ferry__io_unmap(mapping); /* the memory cannot adopt: for example, it has slices */
    return 0;
}

struct source {
    struct ferry_io *io;
    const struct ferry__io_array *array;
};

static int read_source(const void *arg, bool diff, void *out)
{
    const struct source *source = arg;

    return read_range(source->io, source->array, diff, 0, source->array->entry.count, out);
}

int ferry__io_fill(ferry_blob *b, bool diff, ferry__io_fill_fn read, const void *arg)
{
    void *out = diff ? ferry_blob_overwrite_host_diff(b) : ferry_blob_overwrite_host_data(b);

    return out ? read(arg, diff, out) : ferry_last_error_code();
}

int ferry__io_fill_converted(ferry_blob *b, bool diff, ferry_dtype dtype, ferry__io_fill_fn read,
                             const void *arg)
{
    ferry_blob *other;
    int err = ferry_blob_create(ferry_blob_home(b), dtype, ferry_blob_shape(b), ferry_blob_rank(b),
                                &other);

    if (err)
        return err;
    err = ferry__io_fill(other, diff, read, arg);
    if (!err)
        err = ferry_blob_copy_from(b, other, diff ? FERRY_COPY_DIFF : 0);
    ferry_blob_destroy(other);
    return err;
}

static int fill(const struct source *source, bool diff, ferry_blob *b)
{
    ferry_dtype dtype = diff ? source->array->diff.dtype : source->array->data.dtype;
    int adopted;

    if (dtype != ferry_blob_dtype(b))
        return ferry__io_fill_converted(b, diff, dtype, read_source, source);
    adopted = diff ? 0 : try_adopt(source->io, source->array, b);
    if (adopted)
        return adopted < 0 ? adopted : FERRY_OK;
    return ferry__io_fill(b, diff, read_source, source);
}

int ferry_io_read(ferry_io *io, const ferry_io_entry *entry, ferry_blob *b)
{
    struct source source = { .io = io };
    int err = array_of(io, entry, &source.array);

    if (!err && !b)
        err = ferry_error_set(FERRY_EINVAL, "ferry_io_read: the blob is NULL");
    if (!err && source.array->entry.unreadable)
        err = unreadable(io, source.array);
    if (!err)
        err = check_limit(io, source.array);
    if (!err)
        err = ferry_blob_reshape(b, entry->shape, entry->rank, NULL);
    if (!err)
        err = fill(&source, false, b);
    if (!err && entry->has_diff)
        err = fill(&source, true, b);
    return err;
}
