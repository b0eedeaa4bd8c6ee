/* SPDX-License-Identifier: BSD-2-Clause */
#include "attributes.h"
#include "writer.h"

#include <string.h>

int ferry__io_attributes(struct ferry_io *io, const struct ferry__io_attribute **out)
{
    int err = FERRY_OK;

    if (!io->reader->attributes) {
        *out = NULL;
        return FERRY_OK;
    }
    if (!io->has_attributes) {
        io->attributes = NULL;
        err = io->reader->attributes(io, &io->attributes);
    }
    io->has_attributes = !err;
    *out = io->attributes;
    return err;
}

static const char *reason(const ferry_io_writer *w, const struct ferry__io_attribute *a)
{
    if (!w->ops->has_object)
        return "the new file's format has no attributes";
    if (a->why)
        return a->why;
    return w->ops->has_object(w, a->path) ? NULL
                                          : "the object that it belongs to is not in the new file";
}

/*
 * Gives each attribute the path of its object in the new file: between two HDF5 files an array
 * keeps its path, and a new name replaces the last component of the path.
 */
static int keep_paths(ferry_io_writer *w, ferry_io *from)
{
    w->layout = FERRY_IO_LAYOUT_PLAIN;
    for (const struct ferry__io_array *a = from->first; a; a = a->next)
        if (strcmp(from->reader->path(a), a->entry.name) != 0)
            w->layout = FERRY_IO_LAYOUT_WEIGHTS;
    for (struct ferry__out_array *a = w->first; a; a = a->next) {
        const ferry_io_entry *entry = NULL;
        const char *path;
        int err = ferry_io_entry_find(from, a->entry.name, &entry);

        if (err)
            return err;
        if (!entry)
            continue;
        path = from->reader->path(from->table[entry->index]);
        a->path = ferry__mem_copy(&w->arena, path, strlen(path));
        if (!a->path)
            return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    }
    return FERRY_OK;
}

int ferry_io_writer_set_layout(ferry_io_writer *w, ferry_io_layout layout)
{
    if (!w || (unsigned)layout > FERRY_IO_LAYOUT_WEIGHTS)
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_set_layout: %s",
                               w ? "there is no such layout" : "the writer is NULL");
    if (w->format != FERRY_IO_HDF5)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: a layout is for HDF5, not for %s",
                               w->out.shown, ferry_io_format_name(w->format));
    if (w->begun)
        return ferry_error_set(FERRY_EINVAL, "%s: the layout must be set before the first array",
                               w->out.shown);
    w->layout = layout;
    w->layout_chosen = true;
    return FERRY_OK;
}

int ferry_io_writer_copy_attributes(ferry_io_writer *w, ferry_io *from,
                                    ferry_io_attribute_dropped_fn left, void *arg)
{
    const struct ferry__io_attribute *list = NULL;
    int err;

    if (!w || !from)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_io_writer_copy_attributes: an argument is NULL");
    if (w->begun || (w->count > 0 && !w->declared))
        return ferry_error_set(
            FERRY_EINVAL,
            "%s: attributes are set after the arrays are declared and before the "
            "first value",
            w->out.shown);
    err = ferry__io_attributes(from, &list);
    if (!err && w->format == from->format && from->reader->path && !w->layout_chosen)
        err = keep_paths(w, from);
    if (!err && list && w->ops->plan_objects)
        err = w->ops->plan_objects(w);
    if (err)
        return err;
    w->attributes = list;
    w->attributes_path = from->file.real;
    for (; list && left; list = list->next) {
        const char *why = reason(w, list);

        if (why)
            left(arg, list->path, list->name, why);
    }
    return FERRY_OK;
}
