/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5: every dataset is an array. In Caffe's weights, /data/<layer>/<i> is blob i of a layer and
 * /diff/<layer>/<i> its diff.
 */
#include "hdf5_lib.h"
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    hid_t file;
};

/* What an array remembers: its datasets' paths, opened when they are read. */
struct source {
    const char *data, *diff;
};

static ferry_io_format probe(const struct ferry__io_file *file)
{
    /* The superblock may stand behind a block of the user's: at 0, 512, 1024, 2048, … */
    for (uint64_t at = 0; at <= file->size && file->size - at >= 8; at = at ? at * 2 : 512)
        if (memcmp(file->bytes + at, "\x89HDF\r\n\x1a\n", 8) == 0)
            return FERRY_IO_HDF5;
    return FERRY_IO_UNKNOWN;
}

static int fail(const struct ferry_io *io, int code, const char *path, const char *what)
{
    char reason[200];

    return ferry_error_set(code, "%s: %.200s: %s: %s", io->file.path, path, what,
                           ferry__hdf5_reason(reason, sizeof(reason)));
}

/* ---- one dataset ---------------------------------------------------------------------------- */

struct shape {
    ferry_dtype dtype;
    int naxes;
    int64_t dims[FERRY_MAX_AXES];
    int64_t count;
};

static int read_dims(const struct ferry_io *io, const char *path, hid_t space, struct shape *out)
{
    hsize_t dims[FERRY_MAX_AXES];
    int naxes = H5Sget_simple_extent_ndims(space);

    if (naxes < 0 || H5Sget_simple_extent_type(space) == H5S_NULL)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: shape: it has none", io->file.path,
                               path);
    if (naxes > FERRY_MAX_AXES) /* the library's limit, too */
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: shape: more than %d axes",
                               io->file.path, path, FERRY_MAX_AXES);
    H5Sget_simple_extent_dims(space, dims, NULL);
    out->naxes = naxes;
    for (int i = 0; i < naxes; i++) {
        if (dims[i] > INT64_MAX)
            return ferry_error_set(FERRY_EOVERFLOW, "%s: %.200s: shape: dim %d is beyond 63 bits",
                                   io->file.path, path, i);
        out->dims[i] = (int64_t)dims[i];
    }
    out->count = ferry__io_count(naxes, out->dims, ferry_dtype_size(out->dtype));
    if (out->count < 0)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "%s: %.200s: shape: the dims multiply to more than "
                               "2^63 bytes",
                               io->file.path, path);
    return FERRY_OK;
}

static int read_shape(const struct ferry_io *io, const char *path, hid_t set, struct shape *out)
{
    hid_t type = H5Dget_type(set), space = H5Dget_space(set);
    int err;

    if (type < 0 || space < 0)
        err = fail(io, FERRY_EFORMAT, path, "its header");
    else if (!ferry__hdf5_dtype(type, &out->dtype))
        err = ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: type: ferry has no such dtype",
                              io->file.path, path);
    else
        err = read_dims(io, path, space, out);
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return err;
}

/*
 * What a file may hold beyond its size: values that were never written read as zeros, and deflate
 * makes up to 1032 bytes of one. A shape beyond that is damaged, or would fill memory and disks.
 */
#define UNWRITTEN    (64u * 1024 * 1024)
#define MOST_INFLATE 1032

/* How the values of a dataset are stored. */
struct storage {
    H5D_layout_t layout;
    bool elsewhere; /* in files that this one names */
    haddr_t offset; /* HADDR_UNDEF: not in one piece, or never written */
    bool native;
    uint64_t needed; /* bytes that so many of its type take */
};

static struct storage storage_of(hid_t set, const struct shape *shape)
{
    hid_t plist = H5Dget_create_plist(set), type = H5Dget_type(set);
    hid_t native = ferry__hdf5_type(shape->dtype, 1);
    struct storage storage = { .offset = HADDR_UNDEF };

    storage.layout = plist >= 0 ? H5Pget_layout(plist) : H5D_LAYOUT_ERROR;
    storage.elsewhere =
        storage.layout == H5D_VIRTUAL || (plist >= 0 && H5Pget_external_count(plist) != 0);
    storage.native = H5Tequal(type, native) > 0;
    storage.needed = (uint64_t)shape->count * H5Tget_size(type);
    if (storage.layout == H5D_CONTIGUOUS && !storage.elsewhere)
        storage.offset = H5Dget_offset(set);
    if (plist >= 0)
        H5Pclose(plist);
    H5Tclose(type);
    H5Tclose(native);
    return storage;
}

/* What the library takes at its word, and then copies from past the end of its own buffers. */
static int check_storage(const struct ferry_io *io, hid_t set, const char *path,
                         const struct storage *storage)
{
    uint64_t stored = (uint64_t)H5Dget_storage_size(set), size = io->file.size;
    bool one_piece = storage->layout == H5D_COMPACT || storage->offset != HADDR_UNDEF;

    if (storage->elsewhere) /* any file of the reader's could be named */
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.200s: its values are in other files",
                               io->file.path, path);
    if (storage->needed > UNWRITTEN && (storage->needed - UNWRITTEN) / MOST_INFLATE > size)
        return ferry_error_set(
            FERRY_ESHAPE, "%s: %.200s: the shape takes %llu bytes, the file has %llu",
            io->file.path, path, (unsigned long long)storage->needed, (unsigned long long)size);
    if (one_piece && stored < storage->needed)
        return ferry_error_set(
            FERRY_ESHAPE, "%s: %.200s: %llu bytes are stored, the shape takes %llu", io->file.path,
            path, (unsigned long long)stored, (unsigned long long)storage->needed);
    if (storage->offset != HADDR_UNDEF && (stored > size || storage->offset > size - stored))
        return ferry_error_set(FERRY_EFORMAT, "%s: %.200s at byte %llu: %llu bytes go past the end",
                               io->file.path, path, (unsigned long long)storage->offset,
                               (unsigned long long)stored);
    return FERRY_OK;
}

/* Values in one piece, as this machine has them, are read as they lie in the file. */
static int set_values(const struct ferry_io *io, hid_t set, const char *path,
                      const struct shape *shape, struct ferry__values *out)
{
    struct storage storage = storage_of(set, shape);
    int err = check_storage(io, set, path, &storage);

    memset(out, 0, sizeof(*out));
    out->dtype = shape->dtype;
    if (!err && storage.native && storage.offset != HADDR_UNDEF) {
        out->encoding = FERRY__VALUES_PLAIN;
        out->bytes = io->file.bytes + storage.offset;
        out->size = storage.needed;
    } else {
        out->encoding = FERRY__VALUES_OWN;
        out->size = (uint64_t)H5Dget_storage_size(set);
    }
    return err;
}

/* ---- the walk ------------------------------------------------------------------------------- */

struct walk {
    struct ferry_io *io;
    hid_t file;
    bool caffe; /* /data is a group */
    int err;
};

/* The diff of /data/x is /diff/x, if that is there and of the same shape. */
static int add_diff(struct walk *walk, struct ferry__io_array *array, struct source *source,
                    const char *name)
{
    size_t size = strlen(name) + 8;
    char *path = ferry__io_alloc(walk->io, size);
    struct shape shape;
    hid_t set;
    int err;

    if (!path)
        return FERRY_EFORMAT;
    snprintf(path, size, "diff/%s", name);
    if (H5Lexists(walk->file, "diff", H5P_DEFAULT) <= 0)
        return FERRY_OK;
    set = H5Dopen2(walk->file, path, H5P_DEFAULT);
    if (set < 0)
        return FERRY_OK;
    err = read_shape(walk->io, path, set, &shape);
    if (!err &&
        (shape.naxes != array->entry.naxes ||
         memcmp(shape.dims, array->entry.dims, (size_t)shape.naxes * sizeof(*shape.dims)) != 0))
        err = ferry_error_set(FERRY_ESHAPE, "%s: %.200s: shape: is not its data's",
                              walk->io->file.path, path);
    if (!err)
        err = set_values(walk->io, set, path, &shape, &array->diff);
    if (!err) {
        array->entry.has_diff = 1;
        array->entry.diff_dtype = shape.dtype;
        source->diff = path;
    }
    H5Dclose(set);
    return err;
}

/* "layer/3" is blob 3 of a layer. */
static char *layer_of(struct ferry_io *io, const char *name)
{
    const char *slash = strrchr(name, '/');

    if (!slash || !slash[1] || strspn(slash + 1, "0123456789") != strlen(slash + 1))
        return NULL;
    return ferry__io_string(io, name, (size_t)(slash - name));
}

static int add_dataset(struct walk *walk, hid_t set, const char *path)
{
    bool caffe = walk->caffe && strncmp(path, "data/", 5) == 0;
    const char *name = caffe ? path + 5 : path;
    struct ferry__io_name names = { .name = name,
                                    .layer = caffe ? layer_of(walk->io, name) : NULL };
    struct source *source = ferry__io_alloc(walk->io, sizeof(*source));
    struct ferry__io_array *array;
    struct ferry__values values;
    struct shape shape;
    int err = read_shape(walk->io, path, set, &shape);

    if (!source)
        return FERRY_EFORMAT;
    if (!err)
        err = set_values(walk->io, set, path, &shape, &values);
    if (!err)
        err = ferry__io_add(walk->io, &names, shape.dtype, shape.naxes, shape.dims, &array);
    if (err)
        return err;
    source->data = ferry__io_string(walk->io, path, strlen(path));
    if (!source->data)
        return ferry_last_error_code();
    ferry__io_set_data(walk->io, array, &values);
    array->own = source;
    return caffe ? add_diff(walk, array, source, name) : FERRY_OK;
}

static herr_t visit(hid_t root, const char *path, const H5O_info_t *info, void *arg)
{
    struct walk *walk = arg;
    hid_t set;

    if (info->type != H5O_TYPE_DATASET || (walk->caffe && strncmp(path, "diff/", 5) == 0))
        return 0;
    set = H5Dopen2(root, path, H5P_DEFAULT);
    if (set < 0)
        walk->err = fail(walk->io, FERRY_EFORMAT, path, "cannot be opened");
    else
        walk->err = add_dataset(walk, set, path);
    if (set >= 0)
        H5Dclose(set);
    return walk->err ? 1 : 0; /* 1 ends the walk without an error of the library's */
}

static bool is_caffes(hid_t file)
{
    H5O_info_t info;

    return H5Lexists(file, "data", H5P_DEFAULT) > 0 &&
           H5Oget_info_by_name2(file, "data", &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_GROUP;
}

static int walk_file(struct ferry_io *io, hid_t file)
{
    struct walk walk = { .io = io, .file = file, .caffe = is_caffes(file) };

    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk, H5O_INFO_BASIC) < 0 && !walk.err)
        return fail(io, FERRY_EFORMAT, "/", "its groups cannot be read");
    return walk.err;
}

static int open_file(struct ferry_io *io)
{
    struct state *state;
    int err;

    if (io->file.fd < 0)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: format at byte 0: HDF5 is read from files, not from memory",
                               io->file.path);
    io->state = state = calloc(1, sizeof(*state));
    if (!state)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", io->file.path);
    ferry__hdf5_enter();
    state->file = H5Fopen(io->file.real, H5F_ACC_RDONLY, H5P_DEFAULT);
    err = state->file < 0 ? fail(io, FERRY_EFORMAT, "superblock", "libhdf5 cannot open it")
                          : walk_file(io, state->file);
    ferry__hdf5_leave();
    return err;
}

static void close_file(struct ferry_io *io)
{
    struct state *state = io->state;

    if (state && state->file >= 0) {
        ferry__hdf5_enter();
        H5Fclose(state->file);
        ferry__hdf5_leave();
    }
    free(state);
}

/* ---- values --------------------------------------------------------------------------------- */

/*
 * The largest box of the array that begins at element `at` and is no longer than `most` elements,
 * whole in its trailing axes. Returns its elements.
 */
static int64_t box_at(const ferry_io_entry *e, int64_t at, int64_t most, hsize_t *start,
                      hsize_t *extent)
{
    int64_t inside = 1; /* elements of the axes behind `axis` */
    int axis;

    for (int i = e->naxes - 1; i >= 0; i--) {
        start[i] = (hsize_t)(at % e->dims[i]);
        at /= e->dims[i];
        extent[i] = 1;
    }
    for (axis = e->naxes - 1; axis > 0; axis--) {
        if (start[axis] != 0 || e->dims[axis] > most / inside)
            break;
        extent[axis] = (hsize_t)e->dims[axis];
        inside *= e->dims[axis];
    }
    if (e->naxes > 0) {
        int64_t left = e->dims[axis] - (int64_t)start[axis];

        extent[axis] = (hsize_t)(left < most / inside ? left : most / inside);
        inside *= (int64_t)extent[axis];
    }
    return inside;
}

static int read_box(hid_t set, hid_t space, hid_t type, int64_t n, const hsize_t *start,
                    const hsize_t *extent, int naxes, void *out)
{
    hsize_t elements = (hsize_t)n;
    hid_t memory = H5Screate_simple(1, &elements, NULL);
    int result = -1;

    if (memory >= 0 &&
        (naxes == 0 || H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, extent, NULL) >= 0))
        result = H5Dread(set, type, memory, space, H5P_DEFAULT, out);
    if (memory >= 0)
        H5Sclose(memory);
    return result;
}

static int read_boxes(const ferry_io_entry *e, hid_t set, hid_t type, size_t size, int64_t at,
                      int64_t count, unsigned char *out)
{
    hid_t space = H5Dget_space(set);
    int result = space < 0 ? -1 : 0;

    while (result >= 0 && count > 0) {
        hsize_t start[FERRY_MAX_AXES], extent[FERRY_MAX_AXES];
        int64_t n = box_at(e, at, count, start, extent);

        result = read_box(set, space, type, n, start, extent, e->naxes, out);
        at += n;
        count -= n;
        out += (size_t)n * size;
    }
    if (space >= 0)
        H5Sclose(space);
    return result;
}

static int read_values(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                       int64_t start, int64_t count, void *out)
{
    const struct state *state = io->state;
    const struct source *source = array->own;
    const char *path = diff ? source->diff : source->data;
    ferry_dtype dtype = diff ? array->diff.dtype : array->data.dtype;
    hid_t set, type;
    int err = FERRY_OK;

    ferry__hdf5_enter();
    type = ferry__hdf5_type(dtype, 1);
    set = H5Dopen2(state->file, path, H5P_DEFAULT);
    if (set < 0 || type < 0 ||
        read_boxes(&array->entry, set, type, ferry_dtype_size(dtype), start, count, out) < 0)
        err = fail(io, FERRY_EFORMAT, path, "its values cannot be read");
    if (set >= 0)
        H5Dclose(set);
    if (type >= 0)
        H5Tclose(type);
    ferry__hdf5_leave();
    return err;
}

const struct ferry__io_reader ferry__hdf5_reader = {
    .probe = probe,
    .open = open_file,
    .read = read_values,
    .close = close_file,
};
