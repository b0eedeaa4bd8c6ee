/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A .npz file: a zip of .npy files, stored or deflated.
 */
#include "crc32.h"
#include "inflate.h"
#include "npy.h"
#include "reader.h"
#include "scratch.h"
#include "zip.h"

#include <stdlib.h>
#include <string.h>

/* The largest header of a deflated member; NumPy's own limit is 10,000 bytes. */
#define MAX_HEADER (1u << 20)

/* The length of NumPy's magic number. */
#define NPY_MAGIC 6

/* The deflated member that is being read, and the position in it. */
struct stream {
    const struct deflated *of;
    struct ferry__inflate *inflate;
    uint64_t position;
    uint32_t crc;
    const struct deflated *scratch_of; /* the column-major array whose values are in the scratch
                                        * file; NULL: none */
    struct ferry__scratch scratch;
};

/* The private data of a deflated array. */
struct deflated {
    struct ferry__zip_member member;
    uint64_t header_size;
};

/* The private data of a stored array: the progress of its checksum. */
struct stored {
    struct ferry__zip_member member;
    int64_t next; /* the first element that is not included in crc */
    uint32_t crc;
    bool checked;
};

static ferry_io_format probe(const struct ferry__io_file *file)
{
    if (file->size >= 4 &&
        (memcmp(file->bytes, "PK\3\4", 4) == 0 || memcmp(file->bytes, "PK\5\6", 4) == 0))
        return FERRY_IO_NPZ;
    return FERRY_IO_UNKNOWN;
}

/* ---- deflated values ------------------------------------------------------------------------ */

static int damaged(const struct ferry_io *io, const struct deflated *d, const char *what)
{
    const struct ferry__zip_member *m = &d->member;

    return ferry_error_set(FERRY_EFORMAT, "%s: %.*s: deflated bytes at byte %llu: %s",
                           io->file.path, m->name_size < 100 ? (int)m->name_size : 100,
                           (const char *)m->name, (unsigned long long)(m->bytes - io->file.bytes),
                           what);
}

static void stop(struct stream *stream)
{
    ferry__inflate_close(stream->inflate);
    stream->inflate = NULL;
    stream->of = NULL;
    stream->position = 0;
    stream->crc = 0;
}

static int start(struct ferry_io *io, const struct deflated *d)
{
    struct stream *stream = io->state;

    stop(stream);
    if (!ferry__inflate_available())
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: %.*s is deflated, and this libferryio was "
                               "built without zlib",
                               io->file.path,
                               d->member.name_size < 100 ? (int)d->member.name_size : 100,
                               (const char *)d->member.name);
    stream->inflate = ferry__inflate_open(d->member.bytes, d->member.stored, 0);
    if (!stream->inflate)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory for inflating", io->file.path);
    stream->of = d;
    return FERRY_OK;
}

/* Reads the next bytes of the member and checks the checksum after the last one. */
static int take(struct ferry_io *io, void *out, size_t size)
{
    struct stream *stream = io->state;
    const struct deflated *d = stream->of;

    if (size > d->member.size - stream->position ||
        ferry__inflate_read(stream->inflate, out, size) != 0) {
        stop(stream);
        return damaged(io, d, "are damaged or truncated");
    }
    stream->crc = ferry__crc32(stream->crc, out, size);
    stream->position += size;
    if (stream->position == d->member.size && stream->crc != d->member.crc) {
        stop(stream);
        return damaged(io, d, "the checksum is wrong");
    }
    return FERRY_OK;
}

static int seek(struct ferry_io *io, const struct deflated *d, uint64_t position)
{
    struct stream *stream = io->state;
    unsigned char scratch[16384];
    int err = FERRY_OK;

    if (stream->of != d || stream->position > position)
        err = start(io, d);
    while (!err && stream->position < position) {
        uint64_t left = position - stream->position;

        err = take(io, scratch, left < sizeof(scratch) ? (size_t)left : sizeof(scratch));
    }
    return err;
}

/* The row-major index of the next element in column-major order. */
static int64_t next_row_major(const ferry_io_entry *e, int64_t *index, const int64_t *stride,
                              int64_t place)
{
    for (int axis = 0; axis < e->rank; axis++) {
        place += stride[axis];
        if (++index[axis] < e->shape[axis])
            break;
        place -= stride[axis] * e->shape[axis];
        index[axis] = 0;
    }
    return place;
}

/*
 * Reads a deflated column-major array: its elements arrive in the file's order, and those in the
 * requested range are stored at their row-major positions.
 */
static int scatter(struct ferry_io *io, const struct ferry__io_array *array, int64_t first,
                   int64_t count, unsigned char *out)
{
    const ferry_io_entry *e = &array->entry;
    int64_t index[FERRY_MAX_AXES] = { 0 }, stride[FERRY_MAX_AXES], place = 0, step = 1;
    int64_t size = (int64_t)ferry__values_element(&array->data), at = 0, filled = 0;
    unsigned char buffer[16384];

    for (int axis = e->rank - 1; axis >= 0; axis--) {
        stride[axis] = step;
        step *= e->shape[axis];
    }
    for (int64_t i = 0; i < e->count; i++, at += size) {
        if (at == filled) {
            int64_t left = (e->count - i) * size;
            int err;

            filled = left < (int64_t)sizeof(buffer) ? left : (int64_t)sizeof(buffer);
            at = 0;
            err = take(io, buffer, (size_t)filled);
            if (err)
                return err;
        }
        if (place >= first && place - first < count)
            memcpy(out + (place - first) * size, buffer + at, (size_t)size);
        place = next_row_major(e, index, stride, place);
    }
    return FERRY_OK;
}

static int fill_scratch(struct ferry_io *io, const struct deflated *d)
{
    struct stream *stream = io->state;
    unsigned char buffer[65536];
    uint64_t left = d->member.size - d->header_size;
    int err;

    stream->scratch_of = NULL;
    ferry__scratch_end(&stream->scratch);
    err = ferry__scratch_begin(&stream->scratch, io->file.path);
    if (!err)
        err = seek(io, d, d->header_size);
    while (!err && left > 0) {
        size_t n = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);

        err = take(io, buffer, n);
        if (!err)
            err = ferry__scratch_write(&stream->scratch, buffer, n);
        left -= n;
    }
    if (!err)
        err = ferry__scratch_map(&stream->scratch);
    if (!err)
        stream->scratch_of = d;
    return err;
}

/*
 * Reads a part of a column-major array. Its elements are spread over the whole member; inflating
 * the member again for each part would be far too slow, and it might not fit into memory, so a
 * scratch file holds it.
 */
static int read_part(struct ferry_io *io, const struct ferry__io_array *array, int64_t first,
                     int64_t count, void *out)
{
    const struct deflated *d = array->own;
    struct stream *stream = io->state;
    struct ferry__values values = array->data;
    int err = stream->scratch_of == d ? FERRY_OK : fill_scratch(io, d);

    values.encoding = FERRY__VALUES_PLAIN;
    values.bytes = stream->scratch.bytes;
    values.size = stream->scratch.size;
    return err ? err
               : ferry__values_read(&io->file, &values, array->entry.rank, array->entry.shape,
                                    first, count, out);
}

static int read_deflated(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                         int64_t first, int64_t count, void *out)
{
    const struct deflated *d = array->own;
    uint64_t size = ferry__values_element(&array->data);
    int err;

    (void)diff;
    if (array->data.fortran && array->entry.rank > 1 && count < array->entry.count)
        return read_part(io, array, first, count, out);
    if (array->data.fortran) {
        err = seek(io, d, d->header_size);
        if (!err)
            err = scatter(io, array, first, count, out);
    } else {
        err = seek(io, d, d->header_size + (uint64_t)first * size);
        if (!err)
            err = take(io, out, (size_t)((uint64_t)count * size));
    }
    if (!err && array->data.swap)
        ferry__swap_bytes(out, count, (size_t)size);
    return err;
}

/* ---- stored values -------------------------------------------------------------------------- */

static int check_end(const struct ferry_io *io, struct stored *s, uint32_t crc)
{
    const struct ferry__zip_member *m = &s->member;

    s->checked = crc == m->crc;
    if (s->checked)
        return FERRY_OK;
    return ferry_error_set(FERRY_EFORMAT,
                           "%s: %.*s: stored bytes at byte %llu: the checksum is wrong",
                           io->file.path, m->name_size < 100 ? (int)m->name_size : 100,
                           (const char *)m->name, (unsigned long long)(m->bytes - io->file.bytes));
}

/*
 * Updates the checksum, which covers the whole member. It is checked once all values were read, at
 * once or in consecutive pieces. A piece from the middle does not justify reading the rest.
 */
static int check_stored(struct ferry_io *io, const struct ferry__io_array *array, int64_t start,
                        int64_t count, const void *out)
{
    struct stored *s = (struct stored *)(uintptr_t)array->own;
    const struct ferry__values *v = &array->data;
    const unsigned char *end = s->member.bytes + s->member.size;
    uint64_t size = ferry__values_element(v);
    const unsigned char *at = v->bytes + (uint64_t)start * size;

    if (s->checked || (start > 0 && (start != s->next || v->fortran)))
        return FERRY_OK;
    if (!out || v->fortran) /* the elements are read in another order than stored */
        return check_end(io, s, ferry__crc32(0, s->member.bytes, (size_t)s->member.size));
    if (start == 0)
        s->crc = ferry__crc32(0, s->member.bytes, (size_t)(v->bytes - s->member.bytes));
    s->crc = ferry__crc32(s->crc, v->swap ? at : out, (size_t)((uint64_t)count * size));
    s->next = start + count;
    at += (uint64_t)count * size;
    return s->next < array->entry.count
               ? FERRY_OK
               : check_end(io, s, ferry__crc32(s->crc, at, (size_t)(end - at)));
}

/* ---- members -------------------------------------------------------------------------------- */

static int check_size(const struct ferry_io *io, const char *name, uint64_t offset,
                      const struct ferry__npy *npy, uint64_t size)
{
    if (ferry__npy_fits(npy, size - npy->header_size))
        return FERRY_OK;
    return ferry_error_set(FERRY_EFORMAT,
                           "%s: %.100s: values at byte %llu: %llu bytes where the "
                           "shape has %llu",
                           io->file.path, name, (unsigned long long)offset,
                           (unsigned long long)(size - npy->header_size),
                           (unsigned long long)((uint64_t)npy->count * npy->element));
}

/* An array's name: the member's name without ".npy", as in NumPy. */
static char *name_of(struct ferry_io *io, const struct ferry__zip_member *m)
{
    size_t size = m->name_size;

    if (size > 4 && memcmp(m->name + size - 4, ".npy", 4) == 0)
        size -= 4;
    return ferry__io_string(io, m->name, size);
}

static int add_array(struct ferry_io *io, const char *name, const struct ferry__npy *npy,
                     struct ferry__io_array **out)
{
    struct ferry__io_name names = { .name = name };

    return ferry__io_add(io, &names, npy->dtype, npy->rank, npy->shape, out);
}

static struct ferry__values values_of(const struct ferry__npy *npy)
{
    struct ferry__values values = { .dtype = npy->dtype,
                                    .storage = npy->storage,
                                    .swap = npy->swap,
                                    .fortran = npy->fortran && npy->rank > 1 };

    return values;
}

/* Completes an array with the description of its values. */
static int complete(struct ferry_io *io, struct ferry__io_array *array,
                    const struct ferry__npy *npy, const struct ferry__values *values)
{
    ferry__io_set_data(io, array, values);
    return npy->storage == FERRY__STORED_OTHERWISE
               ? ferry__io_mark(io, array, npy->descr, ferry__npy_unreadable(npy))
               : FERRY_OK;
}

static int add_stored(struct ferry_io *io, const char *name, const struct ferry__zip_member *m)
{
    struct ferry__npy_source source = { io->file.path, name, m->bytes, m->size,
                                        (uint64_t)(m->bytes - io->file.bytes) };
    struct stored *stored = ferry__io_alloc(io, sizeof(*stored));
    struct ferry__io_array *array;
    struct ferry__values values;
    struct ferry__npy npy;
    int err;

    if (!stored)
        return ferry_last_error_code();
    *stored = (struct stored){ .member = *m };
    err = ferry__npy_parse(&source, &npy);
    if (!err)
        err = check_size(io, name, source.offset, &npy, m->size);
    if (!err)
        err = add_array(io, name, &npy, &array);
    if (err)
        return err;
    values = values_of(&npy);
    values.encoding = FERRY__VALUES_PLAIN;
    values.bytes = m->bytes + npy.header_size;
    values.size = m->size - npy.header_size;
    array->own = stored;
    return complete(io, array, &npy, &values);
}

/* Inflates only the header, to find the layout of the values. */
static int parse_deflated(struct ferry_io *io, const char *name, struct deflated *d,
                          struct ferry__npy *out)
{
    unsigned char first[12];
    struct ferry__npy_source source = { io->file.path, name, first, sizeof(first),
                                        (uint64_t)(d->member.bytes - io->file.bytes) };
    unsigned char *header;
    uint64_t size;
    int err;

    if (d->member.size < sizeof(first))
        return damaged(io, d, "are too few for an array");
    err = seek(io, d, 0);
    if (!err)
        err = take(io, first, sizeof(first));
    if (!err)
        err = ferry__npy_header_size(&source, &size);
    if (err)
        return err;
    if (size > d->member.size || size > MAX_HEADER || size < sizeof(first))
        return damaged(io, d, "the array's header length is wrong");
    header = malloc((size_t)size);
    if (!header)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory for a header", io->file.path);
    memcpy(header, first, sizeof(first));
    err = take(io, header + sizeof(first), (size_t)size - sizeof(first));
    source.bytes = header;
    source.size = size;
    if (!err)
        err = ferry__npy_parse(&source, out);
    free(header);
    return err;
}

static int add_deflated(struct ferry_io *io, const char *name, const struct ferry__zip_member *m)
{
    struct deflated *d = ferry__io_alloc(io, sizeof(*d));
    struct ferry__io_array *array;
    struct ferry__values values;
    struct ferry__npy npy;
    int err;

    if (!d)
        return ferry_last_error_code();
    d->member = *m;
    err = parse_deflated(io, name, d, &npy);
    if (!err)
        err = check_size(io, name, (uint64_t)(m->bytes - io->file.bytes), &npy, m->size);
    if (!err)
        err = add_array(io, name, &npy, &array);
    if (err)
        return err;
    d->header_size = npy.header_size;
    values = values_of(&npy);
    values.encoding = FERRY__VALUES_OWN;
    values.bytes = m->bytes;
    values.size = m->stored;
    array->own = d;
    return complete(io, array, &npy, &values);
}

/* Adds an array that cannot be read, because its type and shape are unknown. */
static int add_unreadable(struct ferry_io *io, const char *name, const struct ferry__zip_member *m,
                          const char *why)
{
    const struct ferry__npy none = { .dtype = FERRY_U8,
                                     .storage = FERRY__STORED_OTHERWISE,
                                     .rank = 1 };
    struct ferry__values values = values_of(&none);
    struct ferry__io_array *array;
    int err = add_array(io, name, &none, &array);

    if (err)
        return err;
    values.bytes = m->bytes;
    values.size = m->stored;
    ferry__io_set_data(io, array, &values);
    return ferry__io_mark(io, array, "?", why);
}

static const char no_array[] = "is not a .npy array";

/*
 * Whether a member's bytes begin with an array's magic number. The reader of an array reports a
 * damaged deflated member.
 */
static int begins_as_array(struct ferry_io *io, const struct ferry__zip_member *m, bool *out)
{
    struct deflated d = { .member = *m };
    unsigned char first[NPY_MAGIC];
    int err;

    *out = false;
    if (m->size < NPY_MAGIC)
        return FERRY_OK;
    if (m->method == FERRY__ZIP_STORED) {
        *out = ferry__npy_magic(m->bytes, m->size);
        return FERRY_OK;
    }
    err = seek(io, &d, 0);
    if (!err)
        err = take(io, first, sizeof(first));
    stop(io->state);
    *out = !err && ferry__npy_magic(first, sizeof(first));
    return err;
}

static bool ends_with(const struct ferry__zip_member *m, const char *end)
{
    size_t size = strlen(end);

    return m->name_size >= size && memcmp(m->name + m->name_size - size, end, size) == 0;
}

/* Adds a member whose name does not end in ".npy": it may still be an array, as in NumPy. */
static int add_other(struct ferry_io *io, const char *name, const struct ferry__zip_member *m)
{
    bool array;
    int err = begins_as_array(io, m, &array);

    if (err)
        return err;
    if (!array)
        return add_unreadable(io, name, m, no_array);
    return m->method == FERRY__ZIP_DEFLATED ? add_deflated(io, name, m) : add_stored(io, name, m);
}

static int add_member(struct ferry_io *io, const struct ferry__zip_member *m)
{
    char *name;

    if (m->size == 0 && ends_with(m, "/")) /* the member is a folder */
        return FERRY_OK;

    if (memchr(m->name, '\0', m->name_size))
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: zip directory entry at byte %llu: a NUL in the "
                               "name",
                               io->file.path, (unsigned long long)(m->name - io->file.bytes));
    name = name_of(io, m);
    if (!name)
        return ferry_last_error_code();
    if (m->unreadable)
        return add_unreadable(io, name, m, m->unreadable);
    if (!ends_with(m, ".npy"))
        return add_other(io, name, m);
    return m->method == FERRY__ZIP_DEFLATED ? add_deflated(io, name, m) : add_stored(io, name, m);
}

/* Refuses an archive without any array, which is not a .npz file. */
static int check_any(const struct ferry_io *io)
{
    for (const struct ferry__io_array *array = io->first; array; array = array->next)
        if (!array->entry.unreadable || strcmp(array->entry.unreadable, no_array) != 0)
            return FERRY_OK;
    return io->count == 0 ? FERRY_OK
                          : ferry_error_set(FERRY_EFORMAT,
                                            "%s: format at byte 0: is a zip archive without NumPy "
                                            "arrays (.npy): unpack it first",
                                            io->file.path);
}

static int open_file(struct ferry_io *io)
{
    struct ferry__zip_member member;
    struct ferry__zip zip;
    struct stream *stream;
    int got = ferry__zip_open(&io->file, &zip);

    if (got)
        return got;
    stream = calloc(1, sizeof(*stream));
    if (!stream)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", io->file.path);
    stream->scratch.fd = -1;
    io->state = stream;
    while (!got && (got = ferry__zip_next(&zip, &member)) > 0)
        got = add_member(io, &member);
    return got ? got : check_any(io);
}

static void close_file(struct ferry_io *io)
{
    struct stream *stream = io->state;

    if (stream) {
        stop(stream);
        ferry__scratch_end(&stream->scratch);
    }
    free(stream);
}

const struct ferry__io_reader ferry__npz_reader = {
    .adoptable = true,
    .unique = true,
    .probe = probe,
    .open = open_file,
    .read = read_deflated,
    .check = check_stored,
    .close = close_file,
};
