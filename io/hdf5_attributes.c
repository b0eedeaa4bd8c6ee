/* SPDX-License-Identifier: BSD-2-Clause */
#include "hdf5_attributes.h"
#include "hdf5_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The size of an object header in the oldest format, which every version of libhdf5 reads. */
#define LONGEST 64000

struct walk {
    struct ferry_io *io;
    hid_t file;
    const char *path;
    struct ferry__io_attribute *first, **last;
    int err;
};

static int fail(const struct walk *walk, const char *name, const char *what)
{
    char reason[200];

    return ferry_error_set(FERRY_EFORMAT, "%s: attribute %.200s of /%.200s: %s: %s",
                           walk->io->file.path, name, walk->path, what,
                           ferry__hdf5_reason(reason, sizeof(reason)));
}

/* ---- one ------------------------------------------------------------------------------------ */

/* An open attribute with its type and its shape; negative if opening failed. */
struct opened {
    hid_t id, type, space;
};

static void close_attribute(const struct opened *a)
{
    if (a->space >= 0)
        H5Sclose(a->space);
    if (a->type >= 0)
        H5Tclose(a->type);
    if (a->id >= 0)
        H5Aclose(a->id);
}

static bool open_attribute(hid_t object, const char *name, struct opened *out)
{
    hid_t type;

    *out = (struct opened){ H5Aopen(object, name, H5P_DEFAULT), -1, -1 };
    if (out->id < 0)
        return false;
    out->space = H5Aget_space(out->id);
    type = H5Aget_type(out->id);
    if (type >= 0) { /* a named type in the file is replaced by an unnamed copy */
        out->type = H5Tcopy(type);
        H5Tclose(type);
    }
    return out->type >= 0 && out->space >= 0;
}

/*
 * Reads the value in the form that libhdf5 returns; NULL for an attribute without a value.
 * FERRY_ENOMEM or FERRY_EFORMAT.
 */
static int read_value(const struct opened *a, void **out)
{
    hssize_t n = H5Sget_simple_extent_npoints(a->space);
    size_t size = H5Tget_size(a->type);
    herr_t got;

    *out = NULL;
    if (n < 0 || size == 0)
        return FERRY_EFORMAT;
    if (n == 0)
        return FERRY_OK;
    *out = calloc((size_t)n, size);
    if (!*out)
        return FERRY_ENOMEM;
    ferry__hdf5_lean_begin();
    got = H5Aread(a->id, a->type, *out);
    ferry__hdf5_lean_end();
    if (got >= 0)
        return FERRY_OK;
    free(*out);
    *out = NULL;
    return FERRY_EFORMAT;
}

static void free_value(const struct opened *a, void *value)
{
    if (value)
        H5Dvlen_reclaim(a->type, a->space, H5P_DEFAULT, value);
    free(value);
}

/*
 * The reason why an attribute is not copied. A value longer than a header is not read, because a
 * file may claim any shape.
 */
static const char *why_not(const struct opened *a, uint64_t size)
{
    if (H5Tdetect_class(a->type, H5T_REFERENCE) != 0)
        return "refers to an address in the old file";
    return size > LONGEST ? "is longer than 64000 bytes" : NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int take(struct walk *walk, const char *name, const struct opened *a)
{
    struct ferry__io_attribute *attribute = ferry__io_alloc(walk->io, sizeof(*attribute));
    hssize_t n = H5Sget_simple_extent_npoints(a->space);
    void *value = NULL;
    int err = FERRY_OK;

    if (!attribute)
        return ferry_last_error_code();
    attribute->path = walk->path;
    attribute->name = ferry__io_string(walk->io, name, strlen(name));
    if (!attribute->name)
        return ferry_last_error_code();
    attribute->size = n > 0 ? (uint64_t)n * H5Tget_size(a->type) : 0;
    if (n > 0 && attribute->size / (uint64_t)n != H5Tget_size(a->type))
        attribute->size = UINT64_MAX;
    attribute->why = why_not(a, attribute->size);
    if (!attribute->why)
        err = read_value(a, &value);
    free_value(a, value);
    if (err == FERRY_ENOMEM)
        return ferry_error_set(err, "%s: out of memory", walk->io->file.path);
    if (err)
        return fail(walk, name, "its value cannot be read");
    *walk->last = attribute;
    walk->last = &attribute->next;
    return FERRY_OK;
}

static herr_t see_attribute(hid_t object, const char *name, const H5A_info_t *info, void *arg)
{
    struct walk *walk = arg;
    struct opened a;

    (void)info;
    walk->err =
        open_attribute(object, name, &a) ? take(walk, name, &a) : fail(walk, name, "its header");
    close_attribute(&a);
    return walk->err ? 1 : 0;
}

static int see_object(struct walk *walk, const char *path)
{
    hid_t object = H5Oopen(walk->file, *path ? path : "/", H5P_DEFAULT);
    herr_t result;

    walk->path = path;
    if (object < 0) {
        walk->err = fail(walk, "*", "the object cannot be opened");
    } else {
        result = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, see_attribute, walk);
        if (result < 0 && !walk->err)
            walk->err = fail(walk, "*", "the attributes cannot be listed");
    }
    if (object >= 0)
        H5Oclose(object);
    return walk->err;
}

int ferry__hdf5_attributes_list(struct ferry_io *io, hid_t file,
                                const struct ferry__hdf5_attributed *of,
                                struct ferry__io_attribute **out)
{
    struct walk walk = { .io = io, .file = file, .last = &walk.first };

    for (; of && !walk.err; of = of->next)
        walk.err = see_object(&walk, of->path);
    *out = walk.first;
    return walk.err;
}

/* ---- copying -------------------------------------------------------------------------------- */

static int write_attribute(const struct opened *a, hid_t object, const char *name)
{
    void *value;
    int err = read_value(a, &value);
    hid_t id = err ? -1 : H5Acreate2(object, name, a->type, a->space, H5P_DEFAULT, H5P_DEFAULT);

    if (!err && (id < 0 || (value && H5Awrite(id, a->type, value) < 0)))
        err = FERRY_EIO;
    if (id >= 0 && H5Aclose(id) < 0 && !err)
        err = FERRY_EIO;
    free_value(a, value);
    return err;
}

int ferry__hdf5_attribute_copy(hid_t from, const struct ferry__io_attribute *a, hid_t to)
{
    const char *path = *a->path ? a->path : "/";
    hid_t source = H5Oopen(from, path, H5P_DEFAULT), object = H5Oopen(to, path, H5P_DEFAULT);
    struct opened opened = { -1, -1, -1 };
    int err = FERRY_EIO;

    if (source >= 0 && object >= 0 && open_attribute(source, a->name, &opened))
        err = write_attribute(&opened, object, a->name);
    close_attribute(&opened);
    if (source >= 0)
        H5Oclose(source);
    if (object >= 0)
        H5Oclose(object);
    return err;
}
