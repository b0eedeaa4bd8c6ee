/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A dataset's header: its type, shape, and the storage of its values. libhdf5 has parsed it; this
 * file checks that it is plausible.
 */
#include "hdf5_set.h"

#include <stdio.h>
#include <string.h>

/*
 * Limits of a dataset's size relative to the file. Values that were never written take no space in
 * the file, and deflate decodes one byte to at most 1032. A larger shape is damaged, or would fill
 * memory and disks; the dataset is listed but not read.
 */
#define UNWRITTEN    (256u * 1024 * 1024)
#define MOST_INFLATE 1032

int ferry__hdf5_fail(const struct ferry_io *io, int code, const char *path, const char *what)
{
    char reason[200];

    return ferry_error_set(code, "%s: %.200s: %s: %s", io->file.path, path, what,
                           ferry__hdf5_reason(reason, sizeof(reason)));
}

/* ---- shape ---------------------------------------------------------------------------------- */

static int take_shape(struct ferry_io *io, struct ferry__hdf5_set *set, hid_t space)
{
    hsize_t shape[FERRY_MAX_AXES];
    int64_t *own;
    int rank = H5Sget_simple_extent_ndims(space);

    if (rank < 0 || rank > FERRY_MAX_AXES) /* libhdf5 has the same limit */
        return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: shape: %d axes", io->file.path,
                               set->path, rank);
    H5Sget_simple_extent_dims(space, shape, NULL);
    own = ferry__io_alloc(io, (size_t)rank * sizeof(*own));
    if (!own)
        return ferry_last_error_code();
    for (int i = 0; i < rank; i++) {
        if (shape[i] > INT64_MAX)
            return ferry_error_set(FERRY_EOVERFLOW, "%s: %.200s: shape: dim %d is beyond 63 bits",
                                   io->file.path, set->path, i);
        own[i] = (int64_t)shape[i];
    }
    set->rank = rank;
    set->shape = own;
    set->count = ferry__io_count(rank, own, set->element.size ? set->element.size : 1);
    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        set->count = 0;
    if (set->count < 0)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "%s: %.200s: shape: the dims multiply to more than "
                               "2^63 bytes",
                               io->file.path, set->path);
    return FERRY_OK;
}

/* ---- storage -------------------------------------------------------------------------------- */

static const char *missing_filter(struct ferry_io *io, unsigned id)
{
    const char *name = ferry__hdf5_filter_name(id);
    char text[200];

    snprintf(text, sizeof(text),
             "filter %u (%s) is not available; with the filter (%s), h5repack -f NONE undoes it",
             id, name ? name : "unregistered",
             id > 255 ? "Python's hdf5plugin, or HDF5_PLUGIN_PATH" : "another build of libhdf5");
    return ferry__io_string(io, text, strlen(text));
}

static int take_filters(struct ferry_io *io, struct ferry__hdf5_set *set, hid_t plist)
{
    int n = H5Pget_nfilters(plist);

    if (n < 0 || n > FERRY__HDF5_FILTERS)
        return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: %d filters", io->file.path, set->path,
                               n);
    set->filters.count = (unsigned)n;
    set->filters.element = set->element.size;
    for (int i = 0; i < n; i++) {
        unsigned flags, config, values[16];
        size_t count = 16;
        H5Z_filter_t id =
            H5Pget_filter2(plist, (unsigned)i, &flags, &count, values, 0, NULL, &config);

        if (id < 0)
            return ferry__hdf5_fail(io, FERRY_EFORMAT, set->path, "its filters");
        set->filters.id[i] = (unsigned)id;
        if (id == H5Z_FILTER_SHUFFLE && count > 0 && values[0] > 0)
            set->filters.element = values[0];
        if (ferry__hdf5_filter_known((unsigned)id))
            continue;
        set->location = FERRY__HDF5_LIBRARY;
        if (H5Zfilter_avail(id) > 0)
            continue;
        set->unreadable = missing_filter(io, (unsigned)id);
        return set->unreadable ? FERRY_OK : ferry_last_error_code();
    }
    return FERRY_OK;
}

static int take_chunks(struct ferry_io *io, struct ferry__hdf5_set *set, hid_t plist)
{
    hsize_t shape[FERRY_MAX_AXES + 1];
    unsigned options = 0;

    if (H5Pget_chunk(plist, FERRY_MAX_AXES, shape) != set->rank || set->rank == 0)
        return ferry__hdf5_fail(io, FERRY_EFORMAT, set->path, "its chunks");
    set->chunk = ferry__io_alloc(io, (size_t)set->rank * sizeof(*set->chunk));
    if (!set->chunk)
        return ferry_last_error_code();
    for (int i = 0; i < set->rank; i++)
        set->chunk[i] = (int64_t)shape[i];
    if (ferry__io_count(set->rank, set->chunk, set->element.size ? set->element.size : 1) <= 0)
        return ferry_error_set(FERRY_EFORMAT, "%s: %.200s: chunks of an impossible shape",
                               io->file.path, set->path);
    H5Pget_chunk_opts(plist, &options);
    set->plain_edges = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    return take_filters(io, set, plist);
}

/* Takes the fill value, which elements that were never written have. */
static void take_fill(struct ferry__hdf5_set *set, hid_t plist, hid_t type)
{
    hid_t native = H5Tcopy(type);

    if (native >= 0 && set->element.swap)
        H5Tset_order(native, ferry__big_endian() ? H5T_ORDER_BE : H5T_ORDER_LE);
    if (native >= 0 && set->element.size <= sizeof(set->fill) &&
        H5Pget_fill_value(plist, native, set->fill) < 0)
        memset(set->fill, 0, sizeof(set->fill));
    if (native >= 0)
        H5Tclose(native);
}

static int take_place(struct ferry_io *io, struct ferry__hdf5_set *set, hid_t id, hid_t plist)
{
    H5D_layout_t layout = H5Pget_layout(plist);

    set->stored = (uint64_t)H5Dget_storage_size(id);
    set->offset = HADDR_UNDEF;
    if (layout == H5D_VIRTUAL || H5Pget_external_count(plist) != 0) {
        set->unreadable = "its values are in other files"; /* the file could name any file that the
                                                            * reader may open */
        return FERRY_OK;
    }
    if (layout == H5D_CHUNKED) {
        set->location = FERRY__HDF5_CHUNKS;
        return take_chunks(io, set, plist);
    }
    if (layout == H5D_COMPACT)
        set->location = FERRY__HDF5_COMPACT;
    else if (layout == H5D_CONTIGUOUS && (set->offset = H5Dget_offset(id)) != HADDR_UNDEF)
        set->location = FERRY__HDF5_PIECE;
    else
        set->location = FERRY__HDF5_UNWRITTEN;
    return FERRY_OK;
}

/*
 * Checks sizes that libhdf5 trusts: with wrong ones it would copy from past the end of its buffers.
 */
static int check_storage(const struct ferry_io *io, struct ferry__hdf5_set *set)
{
    uint64_t size = io->file.size, needed = (uint64_t)set->count * set->element.size;
    bool one_piece = set->location == FERRY__HDF5_COMPACT || set->location == FERRY__HDF5_PIECE;

    if (one_piece && set->stored < needed)
        return ferry_error_set(
            FERRY_ESHAPE, "%s: %.200s: %llu bytes are stored, the shape requires %llu",
            io->file.path, set->path, (unsigned long long)set->stored, (unsigned long long)needed);
    if (set->location == FERRY__HDF5_PIECE &&
        (set->stored > size || set->offset > size - set->stored))
        return ferry_error_set(
            FERRY_EFORMAT, "%s: %.200s at byte %llu: %llu bytes run past the end", io->file.path,
            set->path, (unsigned long long)set->offset, (unsigned long long)set->stored);
    if (needed > UNWRITTEN && (needed - UNWRITTEN) / MOST_INFLATE > size)
        set->unreadable = "the shape requires far more bytes than the file can hold";
    return FERRY_OK;
}

static int take_header(struct ferry_io *io, struct ferry__hdf5_set *set, hid_t id,
                       const struct ferry__hdf5_header *h)
{
    int err;

    ferry__hdf5_element_of(h->type, &set->element);
    err = take_shape(io, set, h->space);
    if (!err)
        err = take_place(io, set, id, h->plist);
    if (err)
        return err;
    if (set->element.storage == FERRY__STORED_OTHERWISE)
        set->unreadable = "ferry has no such dtype";
    else if (H5Sget_simple_extent_type(h->space) == H5S_NULL)
        set->unreadable = "it has no shape";
    if (set->unreadable)
        return FERRY_OK;
    take_fill(set, h->plist, h->type);
    return check_storage(io, set);
}

int ferry__hdf5_set_open(struct ferry_io *io, const char *path, hid_t id,
                         struct ferry__hdf5_set **out)
{
    struct ferry__hdf5_set *set = ferry__io_alloc(io, sizeof(*set));
    struct ferry__hdf5_header h;
    bool opened = ferry__hdf5_header_open(id, &h);
    int err = FERRY_OK;

    if (set)
        set->path = ferry__io_string(io, path, strlen(path));
    if (!set || !set->path)
        err = ferry_last_error_code();
    else if (!opened)
        err = ferry__hdf5_fail(io, FERRY_EFORMAT, path, "its header");
    else
        err = take_header(io, set, id, &h);
    ferry__hdf5_header_close(&h);
    *out = set;
    return err;
}
