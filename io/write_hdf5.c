/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HDF5 as Caffe lays weights out: /data/<name>, /diff/<name>. libhdf5 makes the groups and the
 * datasets and sets space aside; the values are then written there like those of any other format.
 */
#include "hdf5_lib.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HDF5 takes "a//b" and "a/./b" for "a/b". */
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
    hid_t links; /* makes the groups on the way */
    hid_t sets;  /* contiguous, with space from the beginning */
};

static hid_t make_space(const ferry_io_entry *entry)
{
    hsize_t dims[FERRY_MAX_AXES];

    for (int i = 0; i < entry->naxes; i++)
        dims[i] = (hsize_t)entry->dims[i];
    return entry->naxes ? H5Screate_simple(entry->naxes, dims, NULL) : H5Screate(H5S_SCALAR);
}

/* *out_place: where in the file its values go. */
static int make_set(const struct plan *plan, const struct ferry__out_array *array,
                    const char *group, uint64_t *out_place)
{
    const ferry_io_entry *entry = &array->entry;
    hid_t type = ferry__hdf5_type(entry->dtype, 0), space = make_space(entry), set = -1;
    size_t size = strlen(entry->name) + 8;
    char *path = malloc(size);
    haddr_t place = HADDR_UNDEF;
    int err = FERRY_OK;

    if (path) {
        snprintf(path, size, "%s/%s", group, entry->name);
        set = H5Dcreate2(plan->file, path, type, space, plan->links, plan->sets, H5P_DEFAULT);
    }
    if (set >= 0)
        place = H5Dget_offset(set);
    if (set < 0 || (array->bytes > 0 && place == HADDR_UNDEF))
        err = fail(plan->w, entry->name, "libhdf5 cannot make a dataset for it");
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    free(path);
    *out_place = place == HADDR_UNDEF ? 0 : (uint64_t)place;
    return err;
}

static int make_sets(const struct plan *plan)
{
    int err = FERRY_OK;

    for (struct ferry__out_array *a = plan->w->first; a && !err; a = a->next) {
        err = make_set(plan, a, "data", &a->place);
        if (!err && a->entry.has_diff)
            err = make_set(plan, a, "diff", &a->mark);
    }
    return err;
}

static int make_file(struct plan *plan)
{
    int err = FERRY_OK;

    plan->links = H5Pcreate(H5P_LINK_CREATE);
    plan->sets = H5Pcreate(H5P_DATASET_CREATE);
    plan->file = H5Fcreate(plan->w->out.temp, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Pset_create_intermediate_group(plan->links, 1);
    H5Pset_layout(plan->sets, H5D_CONTIGUOUS);
    H5Pset_alloc_time(plan->sets, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(plan->sets, H5D_FILL_TIME_NEVER);
    if (plan->file < 0)
        err = fail(plan->w, "all of them", "libhdf5 cannot make the file");
    if (!err)
        err = make_sets(plan);
    if (plan->file >= 0 && H5Fclose(plan->file) < 0 && !err)
        err = fail(plan->w, "all of them", "libhdf5 cannot complete the headers");
    H5Pclose(plan->links);
    H5Pclose(plan->sets);
    return err;
}

static int begin(ferry_io_writer *w)
{
    struct plan plan = { .w = w };
    int err;

    ferry__hdf5_enter();
    err = make_file(&plan);
    ferry__hdf5_leave();
    return err;
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
    .begin = begin,
    .array = begin_data,
    .diff = begin_diff,
};
