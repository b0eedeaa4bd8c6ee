/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5: the path of an array is its name, or its path in the HDF5 file that it was read from. Only
 * the writer's layout, never a name, decides whether blobs of layers are written as Caffe's
 * weights: /data/<name>, /diff/<name>. With metadata "iter" the file is a solver state: /iter,
 * /current_step, /learned_net, and no /data. libhdf5 creates the groups and datasets and allocates
 * their space; the values are then written into it as for any other format.
 */
#define _GNU_SOURCE
#include "hdf5_attributes.h"
#include "hdf5_lib.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The reason why HDF5 cannot hold the array. HDF5 treats the names "a//b" and "a/./b" as "a/b". */
static const char *can_hold(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    const char *at = entry->name;

    (void)w;
    if (entry->dtype == FERRY_BF16)
        return "HDF5 has no such dtype";
    for (;;) {
        size_t size = strcspn(at, "/");

        if (size == 0 || (size == 1 && *at == '.'))
            return "its name has a part that is empty or a dot";
        if (!at[size])
            return NULL;
        at += size + 1;
    }
}

static bool can_store(enum ferry__storage storage)
{
    return storage <= FERRY__STORED_BOOL; /* HDF5 has no floats of eight bits */
}

static int fail(const ferry_io_writer *w, const char *name, const char *what)
{
    char reason[200];

    return ferry_error_set(FERRY_EIO, "%s: array %.200s: %s: %s", w->out.shown, name, what,
                           ferry__hdf5_reason(reason, sizeof(reason)));
}

/* ---- the plan ------------------------------------------------------------------------------- */

struct plan {
    ferry_io_writer *w;
    hid_t file;
    hid_t links; /* creates missing parent groups */
    hid_t sets;  /* contiguous, with space allocated early */
};

static hid_t make_space(const ferry_io_entry *entry)
{
    hsize_t shape[FERRY_MAX_AXES];

    for (int i = 0; i < entry->rank; i++)
        shape[i] = (hsize_t)entry->shape[i];
    return entry->rank ? H5Screate_simple(entry->rank, shape, NULL) : H5Screate(H5S_SCALAR);
}

/*
 * Whether the array belongs to the layout of Caffe's weights: "layer/3", an array with a diff, and
 * an array that the reader would take for either.
 */
static bool is_caffes(const ferry_io_entry *entry)
{
    const char *name = entry->name, *slash = strrchr(name, '/');

    if (entry->has_diff || strcmp(name, "data") == 0 || strcmp(name, "diff") == 0 ||
        strncmp(name, "data/", 5) == 0 || strncmp(name, "diff/", 5) == 0)
        return true;
    return slash && slash[1] && strspn(slash + 1, "0123456789") == strlen(slash + 1);
}

/* *out_place: the offset of its values in the file. */
static int make_set(const struct plan *plan, const struct ferry__out_array *array, const char *name,
                    const char *group, uint64_t *out_place)
{
    const ferry_io_entry *entry = &array->entry;
    hid_t type = ferry__hdf5_stored_type(array->storage, entry->dtype), space = make_space(entry),
          set = -1;
    size_t size = strlen(name) + 8;
    char *path = malloc(size);
    haddr_t place = HADDR_UNDEF;
    int err = FERRY_OK;

    if (path) {
        snprintf(path, size, "%s/%s", group, name);
        set = H5Dcreate2(plan->file, path, type, space, plan->links, plan->sets, H5P_DEFAULT);
    }
    if (set >= 0)
        place = H5Dget_offset(set);
    if (!path)
        err = ferry_error_set(FERRY_ENOMEM, "%s: out of memory", plan->w->out.shown);
    else if (set < 0 || (array->bytes > 0 && place == HADDR_UNDEF))
        err = fail(plan->w, entry->name, "libhdf5 cannot make a dataset for it");
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    free(path);
    *out_place = place == HADDR_UNDEF ? 0 : (uint64_t)place;
    return err;
}

/* The metadata of a solver state, and whether each is a number. */
static const struct {
    const char *key;
    bool number;
} state_fields[] = { { "iter", true }, { "current_step", true }, { "learned_net", false } };

static const struct ferry__out_metadata *find_metadata(const ferry_io_writer *w, const char *key)
{
    for (const struct ferry__out_metadata *m = w->metadata; m; m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}

static bool takes_metadata(const ferry_io_writer *w, const char *key, const char *value)
{
    bool number = *value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 10;

    (void)w;
    for (size_t i = 0; i < sizeof(state_fields) / sizeof(state_fields[0]); i++)
        if (strcmp(state_fields[i].key, key) == 0)
            return !state_fields[i].number || number;
    return false;
}

/*
 * Writes a field as Caffe does: a number is one element of one axis, a string is a scalar of its
 * own length.
 */
static int make_field(const struct plan *plan, const char *key, const char *value, bool number)
{
    hsize_t one = 1;
    int number_value = number ? atoi(value) : 0;
    hid_t type = H5Tcopy(number ? H5T_NATIVE_INT : H5T_C_S1), set = -1;
    hid_t space = number ? H5Screate_simple(1, &one, NULL) : H5Screate(H5S_SCALAR);
    herr_t result = type < 0 || space < 0 ? -1 : 0;

    if (result >= 0 && !number)
        result = H5Tset_size(type, strlen(value) + 1);
    if (result >= 0)
        set = H5Dcreate2(plan->file, key, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    result = set < 0 ? -1
                     : H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                number ? (const void *)&number_value : value);
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    return result < 0 ? fail(plan->w, key, "libhdf5 cannot write it") : FERRY_OK;
}

static int make_fields(const struct plan *plan)
{
    int err = FERRY_OK;

    for (size_t i = 0; !err && i < sizeof(state_fields) / sizeof(state_fields[0]); i++) {
        const struct ferry__out_metadata *m = find_metadata(plan->w, state_fields[i].key);

        if (m)
            err = make_field(plan, m->key, m->value, state_fields[i].number);
    }
    return err;
}

/* The group of the array's name: "data", or "". */
static const char *group_of(const ferry_io_writer *w, const struct ferry__out_array *array)
{
    bool plain = w->layout == FERRY_IO_LAYOUT_PLAIN && !array->entry.has_diff;
    bool rooted = array->path || find_metadata(w, "iter") || plain || !is_caffes(&array->entry);

    return rooted ? "" : "data";
}

/* The array's path inside the group. */
static const char *name_of(const struct ferry__out_array *array)
{
    return array->path ? array->path : array->entry.name;
}

static int make_sets(const struct plan *plan)
{
    int err = make_fields(plan);

    for (struct ferry__out_array *a = plan->w->first; a && !err; a = a->next) {
        err = make_set(plan, a, name_of(a), group_of(plan->w, a), &a->place);
        if (!err && a->entry.has_diff)
            err = make_set(plan, a, a->entry.name, "diff", &a->mark);
    }
    return err;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Adds "a/b/c", and its parents "a/b" and "a". */
static int add_object(ferry_io_writer *w, const char *group, const char *name)
{
    size_t size = strlen(group) + strlen(name) + 2;
    char *path = ferry__mem_alloc(&w->arena, size), *slash;

    if (!path)
        return FERRY_ENOMEM;
    snprintf(path, size, "%s%s%s", group, *group ? "/" : "", name);
    do {
        int64_t former = ferry__names_add(&w->objects, path, 0);

        if (former == -2)
            return FERRY_ENOMEM;
        if (former >= 0) /* the path, and so its parents, were added before */
            return FERRY_OK;
        path = ferry__mem_copy(&w->arena, path, strlen(path));
        if (!path)
            return FERRY_ENOMEM;
        slash = strrchr(path, '/');
        if (slash)
            *slash = '\0';
    } while (slash);
    return FERRY_OK;
}

static int plan_objects(ferry_io_writer *w)
{
    int err = FERRY_OK;

    for (const struct ferry__out_array *a = w->first; a && !err; a = a->next) {
        err = add_object(w, group_of(w, a), name_of(a));
        if (!err && a->entry.has_diff)
            err = add_object(w, "diff", a->entry.name);
    }
    for (size_t i = 0; !err && i < sizeof(state_fields) / sizeof(state_fields[0]); i++)
        if (find_metadata(w, state_fields[i].key))
            err = add_object(w, "", state_fields[i].key);
    return err ? ferry_error_set(err, "%s: out of memory", w->out.shown) : FERRY_OK;
}

static bool has_object(const ferry_io_writer *w, const char *path)
{
    return !*path || ferry__names_find(&w->objects, path) >= 0;
}

static int copy_attributes(const struct plan *plan)
{
    const ferry_io_writer *w = plan->w;
    hid_t from = w->attributes ? H5Fopen(w->attributes_path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    int err = FERRY_OK;

    if (w->attributes && from < 0)
        return fail(w, "all of them", "libhdf5 cannot open the file with the attributes");
    for (const struct ferry__io_attribute *a = w->attributes; a && !err; a = a->next) {
        char reason[200];

        if (!a->why && has_object(w, a->path))
            err = ferry__hdf5_attribute_copy(from, a, plan->file);
        if (err)
            err = ferry_error_set(
                err, "%s: attribute %.200s of /%.200s: %s", w->out.shown, a->name, a->path,
                err == FERRY_ENOMEM ? "out of memory" : ferry__hdf5_reason(reason, sizeof(reason)));
    }
    if (from >= 0)
        H5Fclose(from);
    return err;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* The largest size of a file's own headers, and of a dataset's headers with new parent groups. */
#define FILE_HEADERS (64u * 1024)
#define SET_HEADERS  (4u * 1024)

/* The number of bytes that an attribute needs besides its name and twice its value. */
#define ATTRIBUTE_HEADERS 1024u

/*
 * Reserves disk space for the whole file. If libhdf5 cannot write its headers, the file stays open
 * and the program crashes at exit; the reservation makes a full disk fail here instead.
 */
static int reserve(const ferry_io_writer *w)
{
    uint64_t size = FILE_HEADERS;

    for (const struct ferry__out_array *a = w->first; a; a = a->next)
        size += (a->bytes + SET_HEADERS + 2 * strlen(a->entry.name)) * (a->entry.has_diff ? 2 : 1);
    for (const struct ferry__out_metadata *m = w->metadata; m; m = m->next)
        size += SET_HEADERS + strlen(m->value);
    for (const struct ferry__io_attribute *a = w->attributes; a; a = a->next)
        size += a->why ? 0 : ATTRIBUTE_HEADERS + 2 * a->size + strlen(a->name);
    while (fallocate(w->out.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) != 0) {
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return FERRY_OK;
        if (errno != EINTR)
            return ferry_error_set(FERRY_EIO, "%s: reserving %llu bytes: %s", w->out.shown,
                                   (unsigned long long)size, strerror(errno));
    }
    return FERRY_OK;
}

/* Truncating the file at its end returns the reserved space beyond it. */
static int return_surplus(const ferry_io_writer *w)
{
    struct stat info;

    if (fstat(w->out.fd, &info) != 0 || ftruncate(w->out.fd, info.st_size) != 0)
        return ferry_error_set(FERRY_EIO, "%s: its length: %s", w->out.shown, strerror(errno));
    return FERRY_OK;
}

/*
 * The number of attributes of one object beyond which the newer format is used, because the old
 * format searches all headers for each attribute.
 */
#define MANY_ATTRIBUTES 200

static bool has_many(const ferry_io_writer *w)
{
    int64_t n = 0;

    for (const struct ferry__io_attribute *a = w->attributes; a; a = a->next) {
        n = a->why ? n : n + 1;
        if (n > MANY_ATTRIBUTES)
            return true;
        if (a->next && strcmp(a->next->path, a->path) != 0)
            n = 0;
    }
    return false;
}

/* Uses the oldest possible format: that of libhdf5 1.8 if an object has many attributes. */
static hid_t create_file(const ferry_io_writer *w)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file;

    if (has_many(w))
        H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    file = H5Fcreate(w->out.temp, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    return file;
}

static int make_file(struct plan *plan)
{
    int err = FERRY_OK;

    plan->links = H5Pcreate(H5P_LINK_CREATE);
    plan->sets = H5Pcreate(H5P_DATASET_CREATE);
    plan->file = create_file(plan->w);
    H5Pset_create_intermediate_group(plan->links, 1);
    H5Pset_layout(plan->sets, H5D_CONTIGUOUS);
    H5Pset_alloc_time(plan->sets, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(plan->sets, H5D_FILL_TIME_NEVER);
    if (plan->file < 0)
        err = fail(plan->w, "all of them", "libhdf5 cannot make the file");
    if (!err)
        err = reserve(plan->w); /* repeated, since creating the file has truncated it */
    if (!err)
        err = make_sets(plan);
    if (!err)
        err = copy_attributes(plan);
    if (plan->file >= 0 && H5Fclose(plan->file) < 0 && !err)
        err = fail(plan->w, "all of them", "libhdf5 cannot complete the headers");
    H5Pclose(plan->links);
    H5Pclose(plan->sets);
    return err;
}

static int begin(ferry_io_writer *w)
{
    struct plan plan = { .w = w };
    int err = reserve(w);

    if (err)
        return err;
    ferry__hdf5_enter();
    err = make_file(&plan);
    ferry__hdf5_leave();
    return err ? err : return_surplus(w);
}

/* ---- values --------------------------------------------------------------------------------- */

static int begin_data(ferry_io_writer *w, struct ferry__out_array *array)
{
    return array->bytes ? ferry__io_out_seek(&w->out, array->place) : FERRY_OK;
}

static int begin_diff(ferry_io_writer *w, struct ferry__out_array *array)
{
    return array->bytes ? ferry__io_out_seek(&w->out, array->mark) : FERRY_OK;
}

const struct ferry__io_writer_ops ferry__hdf5_writer = {
    .needs_plan = true,
    .unique = true,
    .named = true,
    .can_hold = can_hold,
    .can_store = can_store,
    .takes_metadata = takes_metadata,
    .plan_objects = plan_objects,
    .has_object = has_object,
    .begin = begin,
    .array = begin_data,
    .diff = begin_diff,
};
