/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5: every dataset is an array. In Caffe's weights, /data/<layer>/<i> is blob i of a layer and
 * /diff/<layer>/<i> its diff.
 */
#define _GNU_SOURCE
#include "hdf5_attributes.h"
#include "hdf5_proof.h"
#include "hdf5_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    hid_t file;
    struct ferry__hdf5_window window;
};

/* What an array remembers. */
struct source {
    const struct ferry__hdf5_set *data, *diff;
};

static ferry_io_format probe(const struct ferry__io_file *file)
{
    /* The superblock may stand behind a block of the user's: at 0, 512, 1024, 2048, … */
    for (uint64_t at = 0; at <= file->size && file->size - at >= 8; at = at ? at * 2 : 512)
        if (memcmp(file->bytes + at, "\x89HDF\r\n\x1a\n", 8) == 0)
            return FERRY_IO_HDF5;
    return FERRY_IO_UNKNOWN;
}

/* Values in one piece are read as they lie in the file. */
static struct ferry__values values_of(const struct ferry_io *io, const struct ferry__hdf5_set *set)
{
    struct ferry__values values = { .encoding = FERRY__VALUES_OWN,
                                    .dtype = set->element.dtype,
                                    .storage = set->element.storage,
                                    .size = set->stored };

    if (set->unreadable) {
        values.storage = FERRY__STORED_OTHERWISE;
        values.dtype = FERRY_U8;
    } else if (set->place == FERRY__HDF5_PIECE) {
        values.encoding = FERRY__VALUES_PLAIN;
        values.bytes = io->file.bytes + set->offset;
        values.size = (uint64_t)set->count * set->element.size;
        values.swap = set->element.swap;
    }
    return values;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Groups of several names that are told from each other. */
#define MOST_GROUPS 64

struct walk {
    struct ferry_io *io;
    hid_t file;
    bool caffe; /* /data is a group */
    int err;
    haddr_t groups[MOST_GROUPS]; /* that have several names, and were walked */
    unsigned group_count;
};

/* "layer/3" is blob 3 of a layer. */
static char *layer_of(struct ferry_io *io, const char *name)
{
    const char *slash = strrchr(name, '/');

    if (!slash || !slash[1] || strspn(slash + 1, "0123456789") != strlen(slash + 1))
        return NULL;
    return ferry__io_string(io, name, (size_t)(slash - name));
}

/* The array that /diff/x is the diff of: /data/x, in a file of Caffe's, of the same shape. */
static struct ferry__io_array *data_of(const struct walk *walk, const struct ferry__hdf5_set *diff)
{
    struct ferry__io_array *a = walk->caffe ? walk->io->first : NULL;

    if (strncmp(diff->path, "diff/", 5) != 0 || diff->unreadable)
        return NULL;
    while (a && strcmp(a->entry.name, diff->path + 5) != 0)
        a = a->next;
    if (!a || a->entry.has_diff || a->entry.unreadable || a->entry.naxes != diff->naxes ||
        (diff->naxes > 0 &&
         memcmp(a->entry.dims, diff->dims, (size_t)diff->naxes * sizeof(*diff->dims)) != 0))
        return NULL;
    return strncmp(((const struct source *)a->own)->data->path, "data/", 5) == 0 ? a : NULL;
}

/* A diff joins its data. One that has none, or another shape, is an array of its own. */
static int add_array(const struct walk *walk, const struct ferry__hdf5_set *set)
{
    struct ferry__io_array *array = data_of(walk, set);
    bool caffe = walk->caffe && strncmp(set->path, "data/", 5) == 0;
    const char *name = caffe ? set->path + 5 : set->path;
    struct ferry__io_name names = { .name = name,
                                    .layer = caffe ? layer_of(walk->io, name) : NULL };
    struct ferry__values values = values_of(walk->io, set);
    struct source *source;
    int err;

    if (array) {
        source = (struct source *)(uintptr_t)array->own;
        source->diff = set;
        array->diff = values;
        array->entry.has_diff = 1;
        array->entry.diff_dtype = values.dtype;
        return FERRY_OK;
    }
    source = ferry__io_alloc(walk->io, sizeof(*source));
    err = source ? ferry__io_add(walk->io, &names, values.dtype, set->naxes, set->dims, &array)
                 : ferry_last_error_code();
    if (err)
        return err;
    source->data = set;
    array->own = source;
    ferry__io_set_data(walk->io, array, &values);
    return set->unreadable ? ferry__io_mark(walk->io, array, set->element.word, set->unreadable)
                           : FERRY_OK;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* One of a fixed length, padded or ended by a NUL. */
static char *read_fixed(struct ferry_io *io, hid_t set, hid_t type)
{
    size_t size = H5Tget_size(type);
    char *text = NULL, *out = NULL;

    if (size <= io->file.size && H5Dget_storage_size(set) >= size)
        text = malloc(size + 1);
    if (text && H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0) {
        text[size] = '\0';
        for (size_t n = strlen(text); H5Tget_strpad(type) == H5T_STR_SPACEPAD && n > 0; n--)
            if (text[n - 1] == ' ')
                text[n - 1] = '\0';
            else
                break;
        out = ferry__io_string(io, text, strlen(text));
    }
    free(text);
    return out;
}

static char *read_variable(struct ferry_io *io, hid_t set, hid_t type, hid_t space)
{
    char *text = NULL, *out = NULL;

    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) < 0)
        return NULL;
    out = ferry__io_string(io, text ? text : "", text ? strlen(text) : 0);
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
    return out;
}

/* A string by itself is something that the file says about itself: 1 if it was taken as that. */
static int take_string(struct walk *walk, hid_t set, const char *path)
{
    struct ferry__hdf5_header h;
    bool one = ferry__hdf5_header_open(set, &h) && H5Tget_class(h.type) == H5T_STRING &&
               H5Sget_simple_extent_npoints(h.space) == 1 &&
               H5Pget_layout(h.plist) != H5D_CHUNKED && H5Pget_layout(h.plist) != H5D_VIRTUAL &&
               H5Pget_external_count(h.plist) == 0;
    char *value = NULL, *key = NULL;

    if (one)
        value = H5Tis_variable_str(h.type) > 0 ? read_variable(walk->io, set, h.type, h.space)
                                               : read_fixed(walk->io, set, h.type);
    if (value)
        key = ferry__io_string(walk->io, path, strlen(path));
    if (key)
        walk->err = ferry__io_add_metadata(walk->io, key, value);
    ferry__hdf5_header_close(&h);
    return key != NULL;
}

/* ---- links ---------------------------------------------------------------------------------- */

static int add_dataset(struct walk *walk, const char *path)
{
    hid_t id = H5Dopen2(walk->file, path, H5P_DEFAULT);
    struct ferry__hdf5_set *set;

    if (id < 0)
        return ferry__hdf5_fail(walk->io, FERRY_EFORMAT, path, "cannot be opened");
    if (!take_string(walk, id, path)) {
        walk->err = ferry__hdf5_set_open(walk->io, path, id, &set);
        if (!walk->err)
            walk->err = add_array(walk, set);
    }
    H5Dclose(id);
    return walk->err;
}

/* A link that is not followed is said to be there. */
static int note_link(struct walk *walk, const char *path, const char *what)
{
    size_t size = strlen(path) + 16;
    char *key = ferry__io_alloc(walk->io, size);

    if (!key)
        return ferry_last_error_code();
    snprintf(key, size, "link %s", path);
    return ferry__io_add_metadata(walk->io, key, what);
}

/* Every name of a dataset is an array, also the second one; a group is walked once. */
static int visit_hard(struct walk *walk, const char *path)
{
    H5O_info_t info;

    if (H5Oget_info_by_name2(walk->file, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return ferry__hdf5_fail(walk->io, FERRY_EFORMAT, path, "its header");
    if (info.type == H5O_TYPE_DATASET)
        return add_dataset(walk, path);
    if (info.type != H5O_TYPE_GROUP || info.rc < 2)
        return FERRY_OK;
    for (unsigned i = 0; i < walk->group_count; i++)
        if (walk->groups[i] == info.addr)
            return note_link(walk, path,
                             "a hard link to a group that is listed under another name");
    if (walk->group_count < MOST_GROUPS)
        walk->groups[walk->group_count++] = info.addr;
    return FERRY_OK;
}

static herr_t visit(hid_t root, const char *path, const H5L_info_t *info, void *arg)
{
    struct walk *walk = arg;

    (void)root;
    if (info->type == H5L_TYPE_HARD)
        walk->err = visit_hard(walk, path);
    else
        walk->err = note_link(walk, path,
                              info->type == H5L_TYPE_SOFT ? "a soft link, not followed"
                                                          : "a link to another file, not followed");
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

    if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_INC, visit, &walk) < 0 && !walk.err)
        return ferry__hdf5_fail(io, FERRY_EFORMAT, "/", "its groups cannot be read");
    return walk.err;
}

/* Opens the file and lists its arrays. */
static int walk_all(struct ferry_io *io)
{
    struct state *state = io->state;

    state->file = H5Fopen(io->file.real, H5F_ACC_RDONLY, H5P_DEFAULT);
    return state->file < 0
               ? ferry__hdf5_fail(io, FERRY_EFORMAT, "superblock", "libhdf5 cannot open it")
               : walk_file(io, state->file);
}

/* And lets libhdf5 do what reading the values will ask of it. */
static int try_all(struct ferry_io *io)
{
    const struct state *state;
    int err = walk_all(io);

    for (const struct ferry__io_array *a = io->first; a && !err; a = a->next) {
        const struct source *source = a->own;

        state = io->state;
        err = ferry__hdf5_set_try(io, state->file, source->data);
        if (!err && source->diff)
            err = ferry__hdf5_set_try(io, state->file, source->diff);
    }
    return err;
}

static int open_file(struct ferry_io *io)
{
    struct state *state;
    int err;

    if (io->file.fd < 0)
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: format at byte 0: HDF5 is read from files, not from memory",
                               io->file.path);
    if (memmem(io->file.bytes, io->file.size < 512 ? (size_t)io->file.size : 512, "NCSAfami", 8))
        return ferry_error_set(FERRY_EUNSUPPORTED,
                               "%s: format at byte 0: is a member of an HDF5 family: open them "
                               "together with h5py's driver \"family\", or join them by h5repart",
                               io->file.path);
    io->state = state = calloc(1, sizeof(*state));
    if (!state)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", io->file.path);
    state->window.fd = -1;
    state->file = -1;
    ferry__hdf5_enter();
    err = io->trusted ? FERRY_OK : ferry__hdf5_prove(io, try_all);
    if (!err)
        err = walk_all(io);
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
    if (state)
        ferry__hdf5_window_clear(&state->window);
    free(state);
}

/* ---- values --------------------------------------------------------------------------------- */

static int read_values(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                       int64_t start, int64_t count, void *out)
{
    struct state *state = io->state;
    const struct source *source = array->own;
    int err;

    ferry__hdf5_enter();
    err = ferry__hdf5_set_read(io, state->file, &state->window, diff ? source->diff : source->data,
                               start, count, out);
    ferry__hdf5_leave();
    return err;
}

static const char *path_of(const struct ferry__io_array *array)
{
    return ((const struct source *)array->own)->data->path;
}

/* ---- attributes ----------------------------------------------------------------------------- */

static int try_attributes(struct ferry_io *io)
{
    struct ferry__io_attribute *list;

    return ferry__hdf5_attributes_list(io, &list);
}

static int list_attributes(struct ferry_io *io, struct ferry__io_attribute **out)
{
    int err;

    ferry__hdf5_enter();
    err = io->trusted ? FERRY_OK : ferry__hdf5_prove(io, try_attributes);
    if (!err)
        err = ferry__hdf5_attributes_list(io, out);
    ferry__hdf5_leave();
    return err;
}

const struct ferry__io_reader ferry__hdf5_reader = {
    .probe = probe,
    .open = open_file,
    .read = read_values,
    .attributes = list_attributes,
    .path = path_of,
    .close = close_file,
};
