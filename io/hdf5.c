/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5: every dataset is an array. In Caffe's weights, /data/<layer>/<i> is blob i of a layer and
 * /diff/<layer>/<i> is its diff.
 */
#define _GNU_SOURCE
#include "hdf5_attributes.h"
#include "hdf5_family.h"
#include "hdf5_proof.h"
#include "hdf5_set.h"
#include "hdf5_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    hid_t file;
    struct ferry__hdf5_window window;
    const struct ferry__hdf5_attributed *attributed; /* the objects that have attributes */
};

/* The private data of an array. */
struct source {
    const struct ferry__hdf5_set *data, *diff;
};

static ferry_io_format probe(const struct ferry__io_file *file)
{
    /* the superblock may follow a user block, so it is searched at 0, 512, 1024, 2048, … */
    for (uint64_t at = 0; at <= file->size && file->size - at >= 8; at = at ? at * 2 : 512)
        if (memcmp(file->bytes + at, "\x89HDF\r\n\x1a\n", 8) == 0)
            return FERRY_IO_HDF5;
    return FERRY_IO_UNKNOWN;
}

/* Contiguous values are read directly from the file. */
static struct ferry__values values_of(const struct ferry_io *io, const struct ferry__hdf5_set *set)
{
    struct ferry__values values = { .encoding = FERRY__VALUES_OWN,
                                    .dtype = set->element.dtype,
                                    .storage = set->element.storage,
                                    .size = set->stored };

    if (set->unreadable) {
        values.storage = FERRY__STORED_OTHERWISE;
        values.dtype = FERRY_U8;
    } else if (set->location == FERRY__HDF5_PIECE) {
        values.encoding = FERRY__VALUES_PLAIN;
        values.bytes = io->file.bytes + set->offset;
        values.size = (uint64_t)set->count * set->element.size;
        values.swap = set->element.swap;
    }
    return values;
}

/* ---- the walk ------------------------------------------------------------------------------- */

struct walk {
    struct ferry_io *io;
    hid_t file;
    bool trying; /* this is the child process, which may crash */
    bool caffe;  /* /data is a group */
    int err;
    struct ferry__names groups; /* the addresses of groups with several names that were already
                                 * walked */
    struct ferry__names data;   /* the datasets under /data of Caffe's weights, whose diffs may
                                 * follow */
    struct ferry__hdf5_attributed **last_attributed;
};

static int out_of_memory(const struct ferry_io *io)
{
    return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", io->file.path);
}

/* The layer in an array's name: "layer/3" is blob 3 of "layer". */
static char *layer_of(struct ferry_io *io, const char *name)
{
    const char *slash = strrchr(name, '/');

    if (!slash || !slash[1] || strspn(slash + 1, "0123456789") != strlen(slash + 1))
        return NULL;
    return ferry__io_string(io, name, (size_t)(slash - name));
}

/* The array whose diff /diff/x is: /data/x in Caffe's weights, with the same shape. */
static struct ferry__io_array *data_of(const struct walk *walk, const struct ferry__hdf5_set *diff)
{
    struct ferry__io_array *a;
    int64_t found;

    if (strncmp(diff->path, "diff/", 5) != 0 || diff->unreadable)
        return NULL;
    found = ferry__names_find(&walk->data, diff->path + 5);
    a = found < 0 ? NULL : (struct ferry__io_array *)(uintptr_t)found;
    if (!a || a->entry.has_diff || a->entry.unreadable || a->entry.rank != diff->rank ||
        (diff->rank > 0 &&
         memcmp(a->entry.shape, diff->shape, (size_t)diff->rank * sizeof(*diff->shape)) != 0))
        return NULL;
    return a;
}

static int add_diff(struct ferry__io_array *array, const struct ferry__hdf5_set *set,
                    const struct ferry__values *values)
{
    struct source *source = (struct source *)(uintptr_t)array->own;

    source->diff = set;
    array->diff = *values;
    array->entry.has_diff = 1;
    array->entry.diff_dtype = values->dtype;
    return FERRY_OK;
}

static int add_data(struct walk *walk, const struct ferry__hdf5_set *set,
                    const struct ferry__values *values)
{
    bool caffe = walk->caffe && strncmp(set->path, "data/", 5) == 0;
    const char *name = caffe ? set->path + 5 : set->path;
    struct ferry__io_name names = { .name = name,
                                    .layer = caffe ? layer_of(walk->io, name) : NULL };
    struct source *source = ferry__io_alloc(walk->io, sizeof(*source));
    struct ferry__io_array *array;
    int err = source ? ferry__io_add(walk->io, &names, values->dtype, set->rank, set->shape, &array)
                     : ferry_last_error_code();

    if (err)
        return err;
    source->data = set;
    array->own = source;
    ferry__io_set_data(walk->io, array, values);
    if (set->unreadable && set->count == 0) /* a dataset without a shape is not a scalar */
        array->entry.count = 0;
    if (caffe && ferry__names_add(&walk->data, name, (int64_t)(uintptr_t)array) == -2)
        return out_of_memory(walk->io);
    return set->unreadable ? ferry__io_mark(walk->io, array, set->element.word, set->unreadable)
                           : FERRY_OK;
}

/*
 * A diff joins the array of its data. A diff without data, or of another shape, is an array of its
 * own.
 */
static int add_array(struct walk *walk, const struct ferry__hdf5_set *set)
{
    struct ferry__io_array *array = data_of(walk, set);
    struct ferry__values values = values_of(walk->io, set);

    return array ? add_diff(array, set, &values) : add_data(walk, set, &values);
}

/* ---- strings -------------------------------------------------------------------------------- */

/*
 * Makes a dataset that is a single string metadata of the file. 1 if it was added as metadata, or
 * is damaged.
 */
static int take_string(struct walk *walk, hid_t set, const char *path)
{
    struct ferry__hdf5_header h;
    bool one = ferry__hdf5_header_open(set, &h) && H5Tget_class(h.type) == H5T_STRING &&
               H5Sget_simple_extent_npoints(h.space) == 1 &&
               H5Pget_layout(h.plist) != H5D_CHUNKED && H5Pget_layout(h.plist) != H5D_VIRTUAL &&
               H5Pget_external_count(h.plist) == 0;
    char *value = NULL, *key = NULL;

    if (one)
        walk->err = ferry__hdf5_text_read(walk->io, path, set, &h, &value);
    if (value)
        key = ferry__io_string(walk->io, path, strlen(path));
    if (key)
        walk->err = ferry__io_add_metadata(walk->io, key, value);
    ferry__hdf5_header_close(&h);
    return key != NULL || walk->err;
}

/* ---- links ---------------------------------------------------------------------------------- */

static int add_dataset(struct walk *walk, const char *path, hid_t id)
{
    struct ferry__hdf5_set *set;

    if (take_string(walk, id, path))
        return walk->err;
    walk->err = ferry__hdf5_set_open(walk->io, path, id, &set);
    if (!walk->err && walk->trying)
        ferry__hdf5_set_try(walk->io, id, set);
    return walk->err ? walk->err : add_array(walk, set);
}

/* Lists a link that is not followed as metadata. */
static int note_link(struct walk *walk, const char *path, const char *what)
{
    size_t size = strlen(path) + 16;
    char *key = ferry__io_alloc(walk->io, size);

    if (!key)
        return ferry_last_error_code();
    snprintf(key, size, "link %s", path);
    return ferry__io_add_metadata(walk->io, key, what);
}

/*
 * Records a group by its address in the file, since the library walks a group once, however many
 * names it has.
 */
static int see_group(struct walk *walk, const char *path, const H5O_info_t *info)
{
    char text[24], *place;
    int64_t former;

    if (info->rc < 2)
        return FERRY_OK;
    snprintf(text, sizeof(text), "%llx", (unsigned long long)info->addr);
    place = ferry__io_string(walk->io, text, strlen(text));
    if (!place)
        return ferry_last_error_code();
    former = ferry__names_add(&walk->groups, place, 0);
    if (former == -2)
        return out_of_memory(walk->io);
    return former < 0
               ? FERRY_OK
               : note_link(walk, path, "a hard link to a group that is listed under another name");
}

static int note_attributes(struct walk *walk, const char *path, const H5O_info_t *info)
{
    struct ferry__hdf5_attributed *attributed;

    if (info->num_attrs == 0)
        return FERRY_OK;
    attributed = ferry__io_alloc(walk->io, sizeof(*attributed));
    if (!attributed)
        return ferry_last_error_code();
    attributed->path = ferry__io_string(walk->io, path, strlen(path));
    *walk->last_attributed = attributed;
    walk->last_attributed = &attributed->next;
    return attributed->path ? FERRY_OK : ferry_last_error_code();
}

/*
 * Lists a dataset that is damaged, or that this libhdf5 is too old for, as an array with a name
 * only.
 */
static int add_unopened(struct walk *walk, const char *path)
{
    struct ferry__hdf5_set *set = ferry__io_alloc(walk->io, sizeof(*set));
    char why[200], text[240];

    if (!set)
        return ferry_last_error_code();
    snprintf(text, sizeof(text), "libhdf5 cannot open it: %s",
             ferry__hdf5_reason(why, sizeof(why)));
    set->path = ferry__io_string(walk->io, path, strlen(path));
    set->unreadable = ferry__io_string(walk->io, text, strlen(text));
    set->element.word = "unknown";
    return set->path && set->unreadable ? add_array(walk, set) : ferry_last_error_code();
}

/* Every name of a dataset is an array, including further names of the same dataset. */
static int visit_hard(struct walk *walk, const char *path)
{
    hid_t id = H5Oopen(walk->file, path, H5P_DEFAULT);
    H5O_info_t info;
    int err;

    if (id < 0)
        return add_unopened(walk, path);
    if (H5Oget_info2(id, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) < 0)
        err = ferry__hdf5_fail(walk->io, FERRY_EFORMAT, path, "its header");
    else
        err = note_attributes(walk, path, &info);
    if (!err && info.type == H5O_TYPE_DATASET)
        err = add_dataset(walk, path, id);
    else if (!err && info.type == H5O_TYPE_GROUP)
        err = see_group(walk, path, &info);
    H5Oclose(id);
    return err;
}

/*
 * The maximum depth of groups, because libhdf5 looks each object up from the root and recurses on
 * the stack.
 */
#define MOST_LEVELS 100

static bool is_too_deep(const char *path)
{
    int n = 0;

    for (; *path; path++)
        n += *path == '/';
    return n >= MOST_LEVELS;
}

static herr_t visit(hid_t root, const char *path, const H5L_info_t *info, void *arg)
{
    struct walk *walk = arg;

    (void)root;
    if (is_too_deep(path))
        walk->err = ferry_error_set(FERRY_EUNSUPPORTED, "%s: %.100s...: groups nest deeper than %d",
                                    walk->io->file.path, path, MOST_LEVELS);
    else if (info->type == H5L_TYPE_HARD)
        walk->err = visit_hard(walk, path);
    else
        walk->err = note_link(walk, path,
                              info->type == H5L_TYPE_SOFT ? "a soft link, not followed"
                                                          : "a link to another file, not followed");
    return walk->err ? 1 : 0; /* 1 ends the walk without an error of libhdf5 */
}

static bool is_caffes(hid_t file)
{
    H5O_info_t info;

    return H5Lexists(file, "data", H5P_DEFAULT) > 0 &&
           H5Oget_info_by_name2(file, "data", &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           info.type == H5O_TYPE_GROUP;
}

static int walk_file(struct walk *walk)
{
    H5O_info_t root;
    int err;

    if (H5Oget_info2(walk->file, &root, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) < 0)
        return ferry__hdf5_fail(walk->io, FERRY_EFORMAT, "/", "its header");
    walk->caffe = is_caffes(walk->file);
    err = see_group(walk, "", &root);
    if (!err)
        err = note_attributes(walk, "", &root);
    if (err)
        return err;
    if (H5Lvisit(walk->file, H5_INDEX_NAME, H5_ITER_INC, visit, walk) < 0 && !walk->err)
        return ferry__hdf5_fail(walk->io, FERRY_EFORMAT, "/", "its groups cannot be read");
    return walk->err;
}

/* Opens the file and lists its arrays. */
static int walk_all(struct ferry_io *io, bool trying)
{
    struct state *state = io->state;
    struct ferry__hdf5_attributed *attributed = NULL;
    struct walk walk = { .io = io, .trying = trying, .last_attributed = &attributed };
    int err;

    walk.file = state->file = H5Fopen(io->file.real, H5F_ACC_RDONLY, H5P_DEFAULT);
    err = walk.file < 0
              ? ferry__hdf5_fail(io, FERRY_EFORMAT, "superblock", "libhdf5 cannot open it")
              : walk_file(&walk);
    state->attributed = attributed;
    ferry__names_free(&walk.groups);
    ferry__names_free(&walk.data);
    return err;
}

/* Closes the file in the child. The close crashes if libhdf5 has written past its buffers. */
static void close_tried(const struct ferry_io *io)
{
    const struct state *state = io->state;

    if (state->file >= 0)
        H5Fclose(state->file);
}

/* Walks the file, and makes libhdf5 do the work that reading the values will require. */
static int try_all(struct ferry_io *io)
{
    int err = walk_all(io, true);

    close_tried(io);
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
    if (ferry__hdf5_family_begins(io->file.bytes, io->file.size))
        return ferry__hdf5_family_refuse_first(&io->file);
    io->state = state = calloc(1, sizeof(*state));
    if (!state)
        return out_of_memory(io);
    state->window.fd = -1;
    state->file = -1;
    ferry__hdf5_enter();
    err = io->trusted ? FERRY_OK : ferry__hdf5_prove(io, try_all);
    if (!err)
        err = walk_all(io, false);
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

static int read_attributes(struct ferry_io *io, struct ferry__io_attribute **out)
{
    const struct state *state = io->state;

    return ferry__hdf5_attributes_list(io, state->file, state->attributed, out);
}

static int try_attributes(struct ferry_io *io)
{
    struct ferry__io_attribute *list;
    int err = read_attributes(io, &list);

    close_tried(io);
    return err;
}

static int list_attributes(struct ferry_io *io, struct ferry__io_attribute **out)
{
    const struct state *state = io->state;
    int err = FERRY_OK;

    ferry__hdf5_enter();
    if (!io->trusted && state->attributed)
        err = ferry__hdf5_prove(io, try_attributes);
    if (!err)
        err = read_attributes(io, out);
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
