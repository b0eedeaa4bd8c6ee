/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "writer.h"

#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY_SIZE (1u << 20)

static const struct ferry__io_writer_ops *ops_of(ferry_io_format format)
{
    switch (format) {
    case FERRY_IO_BLOBPROTO:
        return &ferry__blobproto_writer;
    case FERRY_IO_CAFFEMODEL:
    case FERRY_IO_SOLVERSTATE:
    case FERRY_IO_BLOBVECTOR:
        return &ferry__caffe_writer;
    case FERRY_IO_NPY:
        return &ferry__npy_writer;
    case FERRY_IO_NPZ:
        return &ferry__npz_writer;
    case FERRY_IO_SAFETENSORS:
        return &ferry__safetensors_writer;
#ifdef FERRY_IO_HAVE_HDF5
    case FERRY_IO_HDF5:
        return &ferry__hdf5_writer;
#endif
    default:
        return NULL;
    }
}

int ferry_io_writer_create(const char *path, ferry_io_format format, ferry_io_writer **out)
{
    const struct ferry__io_writer_ops *ops = ops_of(format);
    struct ferry_io_writer *w;
    int err;

    if (!path || !out)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_create: %s is NULL",
                               path ? "out" : "path");
    if (!ops)
        return ferry_error_set(format == FERRY_IO_HDF5 ? FERRY_EUNSUPPORTED : FERRY_EINVAL,
                               "%.400s: format %s cannot be written%s", path,
                               ferry_io_format_name(format),
                               format == FERRY_IO_HDF5 ? ": libferryio was built without it" : "");
    w = calloc(1, sizeof(*w));
    if (!w)
        return ferry_error_set(FERRY_ENOMEM, "%.400s: out of memory", path);
    w->format = format;
    w->ops = ops;
    w->spool = -1;
    w->arena.limit = UINT64_MAX;
    err = ferry__io_out_open(path, ops->named, &w->out);
    if (err) {
        free(w);
        return err;
    }
    *out = w;
    return FERRY_OK;
}

/* ---- the plan ------------------------------------------------------------------------------- */

int ferry__io_cannot_hold(const ferry_io_writer *w, const char *name, const char *why)
{
    return ferry_error_set(FERRY_EUNSUPPORTED, "%s: array %.200s: %s cannot hold it: %s",
                           w->out.shown, name, ferry_io_format_name(w->format), why);
}

static int check_entry(const ferry_io_writer *w, const ferry_io_entry *e, int64_t *out_count)
{
    const char *why = NULL;

    if (!e->name || e->rank < 0 || e->rank > FERRY_MAX_AXES || (e->rank > 0 && !e->shape) ||
        ferry_dtype_size(e->dtype) == 0)
        return ferry_error_set(FERRY_EINVAL,
                               "%s: array %.200s: its name, dtype or shape is invalid",
                               w->out.shown, e->name ? e->name : "without a name");
    *out_count = ferry__io_count(e->rank, e->shape, ferry_dtype_size(e->dtype));
    if (*out_count < 0)
        return ferry_error_set((int)*out_count, "%s: array %.200s: its shape is %s", w->out.shown,
                               e->name, *out_count == FERRY_EINVAL ? "negative" : "too large");
    if (w->ops->single && w->count > 0)
        why = "the format holds one array, which is already declared";
    else if (w->ops->unique && ferry__names_find(&w->names, e->name) >= 0)
        why = "there is already an array of that name";
    else
        why = w->ops->can_hold(w, e);
    return why ? ferry__io_cannot_hold(w, e->name, why) : FERRY_OK;
}

static const char *keep(ferry_io_writer *w, const char *text)
{
    return ferry__mem_copy(&w->arena, text ? text : "", text ? strlen(text) : 0);
}

/*
 * The size of the members that an entry must have; the later ones may be missing in an older
 * caller's structure.
 */
#define LEAST_ENTRY (offsetof(ferry_io_entry, shape) + sizeof(((ferry_io_entry *)NULL)->shape))

/* The caller's structure may be shorter or longer than this version's. */
static int take_entry(const ferry_io_writer *w, const ferry_io_entry *theirs, ferry_io_entry *out)
{
    *out = (ferry_io_entry){ .struct_size = sizeof(*out) };
    if (!theirs)
        return ferry_error_set(FERRY_EINVAL, "%s: the entry is NULL", w->out.shown);
    if (theirs->struct_size < LEAST_ENTRY)
        return ferry_error_set(FERRY_EINVAL, "%s: an array's entry: struct_size is %s",
                               w->out.shown, theirs->struct_size ? "too small" : "not set");
    memcpy(out, theirs, theirs->struct_size < sizeof(*out) ? theirs->struct_size : sizeof(*out));
    return FERRY_OK;
}

/* On failure the arrays are unchanged. */
static int add_array(ferry_io_writer *w, const ferry_io_entry *e)
{
    struct ferry__out_array *array;
    int64_t *shape, count = 0;
    int err = check_entry(w, e, &count);

    if (err)
        return err;
    array = ferry__mem_alloc(&w->arena, sizeof(*array));
    shape = ferry__mem_alloc(&w->arena, (size_t)e->rank * sizeof(*shape));
    if (!array || !shape)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    if (e->rank > 0)
        memcpy(shape, e->shape, (size_t)e->rank * sizeof(*shape));
    array->entry = *e;
    array->entry.index = w->count;
    array->entry.name = keep(w, e->name);
    array->entry.layer_type = keep(w, e->layer_type);
    array->entry.layer_name = keep(w, e->layer_name);
    array->entry.shape = shape;
    array->entry.count = count;
    array->entry.diff_dtype = e->dtype;
    array->given = (uint64_t)count * ferry_dtype_size(e->dtype);
    ferry__writer_set_storage(w, array, e->storage);
    if (!array->entry.name || !array->entry.layer_type || !array->entry.layer_name ||
        ferry__names_add(&w->names, array->entry.name, array->entry.index) == -2)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    if (w->last)
        w->last->next = array;
    else
        w->first = array;
    w->last = array;
    w->count++;
    return FERRY_OK;
}

int ferry_io_writer_declare(ferry_io_writer *w, const ferry_io_entry *entry)
{
    ferry_io_entry given;
    int err;

    if (!w)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_declare: the writer is NULL");
    if (w->begun || (w->count > 0 && !w->declared))
        return ferry_error_set(
            FERRY_EINVAL, "%s: arrays must be declared before the first is written", w->out.shown);
    err = take_entry(w, entry, &given);
    if (!err)
        err = add_array(w, &given);
    if (!err)
        w->declared = true;
    return err;
}

int ferry_io_writer_set_metadata(ferry_io_writer *w, const char *key, const char *value)
{
    struct ferry__out_metadata *metadata;

    if (!w || !key || !value)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_set_metadata: an argument is NULL");
    if (w->begun)
        return ferry_error_set(FERRY_EINVAL, "%s: metadata must be set before the first array",
                               w->out.shown);
    if (!w->ops->takes_metadata || !w->ops->takes_metadata(w, key, value))
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %s cannot hold metadata %.200s",
                               w->out.shown, ferry_io_format_name(w->format), key);
    metadata = ferry__mem_alloc(&w->arena, sizeof(*metadata));
    if (metadata) {
        metadata->key = keep(w, key);
        metadata->value = keep(w, value);
    }
    if (!metadata || !metadata->key || !metadata->value)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    if (w->last_metadata)
        w->last_metadata->next = metadata;
    else
        w->metadata = metadata;
    w->last_metadata = metadata;
    return FERRY_OK;
}

/* ---- values --------------------------------------------------------------------------------- */

/*
 * Starts the following arrays as long as they have no bytes; `current` is then the array that
 * expects values.
 */
static int advance(ferry_io_writer *w)
{
    while (w->current && w->left == 0) {
        struct ferry__out_array *array = w->current;
        int err = FERRY_OK;

        if (!w->in_diff && array->entry.has_diff) {
            w->in_diff = true;
            w->left = array->given;
            err = w->ops->diff ? w->ops->diff(w, array) : FERRY_OK;
        } else {
            err = w->ops->end ? w->ops->end(w, array) : FERRY_OK;
            w->current = array->next;
            w->in_diff = false;
            w->left = w->current ? w->current->given : 0;
            if (!err && w->current && w->ops->array)
                err = w->ops->array(w, w->current);
        }
        if (err)
            return err;
    }
    return FERRY_OK;
}

/* Makes the array the current one. */
static int enter(ferry_io_writer *w, struct ferry__out_array *array)
{
    int err = FERRY_OK;

    w->current = array;
    w->in_diff = false;
    w->left = array ? array->given : 0;
    if (array && w->ops->array)
        err = w->ops->array(w, array);
    if (!err)
        err = advance(w);
    if (err)
        w->failed = err;
    return err;
}

static int begin(ferry_io_writer *w)
{
    int err = w->ops->begin ? w->ops->begin(w) : FERRY_OK;

    w->begun = true;
    if (err)
        w->failed = err;
    return err ? err : enter(w, w->first);
}

static int put(ferry_io_writer *w, const void *values, size_t size)
{
    int err = ferry__writer_put(w, values, size);

    if (!err) {
        w->left -= size;
        err = advance(w);
    }
    if (err)
        w->failed = err;
    return err;
}

/* A failure that is refused because an earlier one has ended the writer. */
static int failed_before(const ferry_io_writer *w)
{
    return ferry_error_set(w->failed, "%s: an earlier write failed: %s", w->out.shown, w->why);
}

/* Keeps the message of a failure that ends the writer, for its later calls. */
static int noted(ferry_io_writer *w, int err)
{
    if (w->failed && !*w->why)
        snprintf(w->why, sizeof(w->why), "%s", ferry_last_error());
    return err;
}

/* The array that expects values, or NULL, and the bytes that its data or diff lacks. */
static const struct ferry__out_array *expected(const ferry_io_writer *w, uint64_t *left)
{
    const struct ferry__out_array *array = w->begun ? w->current : w->first;

    while (!w->begun && array && array->given == 0)
        array = array->next;
    *left = !array ? 0 : w->begun ? w->left : array->given;
    return array;
}

/* A piece that is refused does not begin the file. */
static int write_values(ferry_io_writer *w, const void *values, size_t size)
{
    uint64_t left;
    const struct ferry__out_array *array = expected(w, &left);
    int err;

    if (size > 0 && !array)
        return ferry_error_set(FERRY_EINVAL, "%s: %zu bytes of values without an array",
                               w->out.shown, size);
    if (size > 0 && (size > left || size % ferry_dtype_size(array->entry.dtype)))
        return ferry_error_set(FERRY_EINVAL,
                               "%s: array %.200s: %zu bytes of values where %llu are left",
                               w->out.shown, array->entry.name, size, (unsigned long long)left);
    err = w->begun ? FERRY_OK : begin(w);
    return err || size == 0 ? err : put(w, values, size);
}

int ferry_io_writer_write_values(ferry_io_writer *w, const void *values, size_t size)
{
    if (!w || (!values && size > 0))
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_write_values: %s is NULL",
                               w ? "values" : "the writer");
    if (w->failed)
        return failed_before(w);
    if (!w->declared)
        return ferry_error_set(FERRY_EINVAL, "%s: no array has been declared", w->out.shown);
    return noted(w, write_values(w, values, size));
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static int fail_spool(const ferry_io_writer *w, const char *what)
{
    return ferry_error_set(FERRY_EIO, "%s: %s a scratch file: %s", w->out.shown, what,
                           strerror(errno));
}

/* Opens an unnamed file in the target's folder, which has room for the whole file. */
static int open_spool(ferry_io_writer *w)
{
    size_t size = strlen(w->out.path) + 32;
    char *name = malloc(size);

    if (!name)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    snprintf(name, size, "%s.spool-XXXXXX", w->out.path);
    w->spool = mkostemp(name, O_CLOEXEC);
    if (w->spool >= 0)
        unlink(name);
    free(name);
    return w->spool < 0 ? fail_spool(w, "creating") : FERRY_OK;
}

static int spool(ferry_io_writer *w, const void *values, uint64_t size)
{
    const char *at = values;
    int err = w->spool < 0 ? open_spool(w) : FERRY_OK;

    while (!err && size > 0) {
        ssize_t got = write(w->spool, at, size < 1u << 30 ? (size_t)size : 1u << 30);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_spool(w, "writing");
        at += got;
        size -= (uint64_t)got;
        w->spooled += (uint64_t)got;
    }
    return err;
}

static int read_spool(const ferry_io_writer *w, uint64_t at, char *out, uint64_t size)
{
    while (size > 0) {
        ssize_t got = pread(w->spool, out, (size_t)size, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return fail_spool(w, "reading");
        out += got;
        at += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return FERRY_OK;
}

static int unspool(ferry_io_writer *w, void *buffer)
{
    int err = FERRY_OK;

    for (uint64_t at = 0; !err && w->current && at < w->spooled;) {
        uint64_t piece = w->left < COPY_SIZE ? w->left : COPY_SIZE;

        err = read_spool(w, at, buffer, piece);
        if (!err)
            err = write_values(w, buffer, (size_t)piece);
        at += piece;
    }
    return err;
}

/* Moves the waiting values to their places, once all arrays are known. */
static int write_spool(ferry_io_writer *w)
{
    void *buffer;
    int err = begin(w);

    if (err || w->spool < 0)
        return err;
    buffer = malloc(COPY_SIZE);
    if (!buffer)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    err = unspool(w, buffer);
    free(buffer);
    return err;
}

static bool is_like(const ferry_io_entry *a, const ferry_io_entry *b)
{
    return strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank &&
           a->has_diff == b->has_diff &&
           (a->rank == 0 || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof(*a->shape)) == 0);
}

/* Makes the array receive values next; in a spooled file it is queued. */
static int next_array(ferry_io_writer *w, const ferry_io_entry *e)
{
    const struct ferry__out_array *former = w->last, *next;
    uint64_t left;
    int err;

    if (w->declared) {
        next = expected(w, &left);
        if (e->count > 0 && (!next || !is_like(&next->entry, e) || w->in_diff ||
                             left != next->given))
            return ferry_error_set(FERRY_ESHAPE, "%s: array %.200s differs from its declaration",
                                   w->out.shown, e->name);
        return w->begun ? FERRY_OK : begin(w);
    }
    err = add_array(w, e);
    if (err == FERRY_ENOMEM)
        w->failed = err; /* the file would lack the array */
    if (err || w->ops->needs_plan)
        return err;
    return former ? enter(w, w->last) : begin(w);
}

static int send_values(ferry_io_writer *w, const ferry_blob *b, bool diff)
{
    size_t size = (size_t)ferry_blob_element_count(b) * ferry_dtype_size(ferry_blob_dtype(b));
    const void *values = diff ? ferry_blob_host_diff(b) : ferry_blob_host_data(b);

    if (!values)
        return ferry_last_error_code();
    if (size == 0)
        return FERRY_OK;
    return w->declared || !w->ops->needs_plan ? write_values(w, values, size)
                                              : spool(w, values, size);
}

int ferry_io_writer_write(ferry_io_writer *w, const char *name, const ferry_blob *b, bool with_diff)
{
    ferry_io_entry e = { .name = name, .has_diff = with_diff };
    int err;

    if (!w || !name || !b)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_write: an argument is NULL");
    if (w->failed)
        return failed_before(w);
    if (ferry_blob_rank(b) == 0 && ferry_blob_element_count(b) == 0)
        return ferry_error_set(FERRY_EINVAL, "%s: array %.200s: the blob has no shape",
                               w->out.shown, name);
    e.dtype = e.diff_dtype = ferry_blob_dtype(b);
    e.rank = ferry_blob_rank(b);
    e.shape = ferry_blob_shape(b);
    e.count = ferry_blob_element_count(b);
    err = next_array(w, &e);
    if (err)
        return noted(w, err);
    err = send_values(w, b, false);
    if (!err && with_diff)
        err = send_values(w, b, true);
    if (err)
        w->failed = err;
    return noted(w, err);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void free_writer(ferry_io_writer *w)
{
    if (w->spool >= 0)
        close(w->spool);
    ferry__names_free(&w->names);
    ferry__names_free(&w->objects);
    ferry__mem_free(&w->arena);
    free(w->row);
    free(w);
}

static int complete(ferry_io_writer *w)
{
    int err = FERRY_OK;

    if (w->failed)
        return failed_before(w);
    if (!w->begun && w->ops->single && w->count == 0)
        return ferry_error_set(FERRY_EINVAL, "%s: %s holds exactly one array, and none was written",
                               w->out.shown, ferry_io_format_name(w->format));
    if (!w->begun)
        err = write_spool(w);
    if (!err && w->current)
        err = ferry_error_set(FERRY_EINVAL, "%s: array %.200s: %llu bytes of values are missing",
                              w->out.shown, w->current->entry.name, (unsigned long long)w->left);
    if (!err && w->ops->finish)
        err = w->ops->finish(w);
    return err;
}

int ferry_io_writer_commit(ferry_io_writer *w)
{
    int err;

    if (!w)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_commit: the writer is NULL");
    err = complete(w);
    if (err) {
        ferry_io_writer_abort(w);
        return err;
    }
    err = ferry__io_out_commit(&w->out);
    free_writer(w);
    return err;
}

void ferry_io_writer_abort(ferry_io_writer *w)
{
    if (!w)
        return;
    if (w->ops->discard)
        w->ops->discard(w);
    ferry__io_out_discard(&w->out);
    free_writer(w);
}
