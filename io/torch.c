/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PyTorch's archive: a zip file with a pickle, which describes the tensors and their layout in
 * storages. The storages are the members NAME/data/0, 1, …, without compression.
 */
#define _POSIX_C_SOURCE 200809L
#include "torch_archive.h"
#include "torch_walk.h"
#include "zip.h"

#include <string.h>

/* ---- the archive ---------------------------------------------------------------------------- */

/*
 * Whether a member's name is that of PyTorch's pickle, which marks a PyTorch archive; other zip
 * files are treated as NumPy's.
 */
static bool is_pickle(const unsigned char *name, size_t size)
{
    return size >= 8 && memcmp(name + size - 8, "data.pkl", 8) == 0 &&
           (size == 8 || name[size - 9] == '/');
}

/* Detects the format; records no message. */
static ferry_io_format probe(const struct ferry__io_file *file)
{
    const unsigned char *at = file->bytes, *end = file->bytes + file->size;

    if (file->size < 4 || memcmp(at, "PK\3\4", 4) != 0)
        return FERRY_IO_UNKNOWN;
    if (file->size > 1 << 20) /* a large file: the directory at its end has the name too */
        at = end - (1 << 20);
    for (; (at = memchr(at, 'd', (size_t)(end - at))) && end - at >= 8; at++)
        if (memcmp(at, "data.pkl", 8) == 0 && (at == file->bytes || at[-1] == '/'))
            return FERRY_IO_PYTORCH;
    return FERRY_IO_UNKNOWN;
}

static int add_member(struct ferry__torch *a, const struct ferry__zip_member *m, int64_t i)
{
    char *name = ferry__io_string(a->io, m->name, m->name_size);

    if (!name)
        return ferry_last_error_code();
    a->members[i] =
        (struct ferry__torch_storage){ m->bytes, m->stored, m->method != FERRY__ZIP_STORED };
    if (ferry__names_add(&a->names, name, i) == -2)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", a->io->file.path);
    if (is_pickle(m->name, m->name_size) && !a->prefix) {
        a->pickle = a->members[i];
        a->prefix = ferry__io_string(a->io, m->name, m->name_size - 8);
        return a->prefix ? FERRY_OK : ferry_last_error_code();
    }
    return FERRY_OK;
}

static int list_members(struct ferry__torch *a)
{
    struct ferry__zip_member member;
    struct ferry__zip zip;
    uint64_t most;
    int64_t n = 0;
    int got = ferry__zip_open(&a->io->file, &zip);

    if (got)
        return got;
    most = (uint64_t)(zip.end - zip.at) / 46; /* 46 is the size of the smallest directory entry of a
                                               * member */
    a->members = ferry__io_alloc(a->io, (size_t)most * sizeof(*a->members));
    if (!a->members)
        return ferry_last_error_code();
    while (!got && (got = ferry__zip_next(&zip, &member)) > 0)
        got = member.unreadable    ? ferry__zip_refuse(&zip, &member)
              : (uint64_t)n < most ? add_member(a, &member, n++)
                                   : FERRY_EFORMAT;
    return got;
}

static int open_archive(struct ferry__torch *a)
{
    const struct ferry__torch_storage *order;
    struct ferry__pickle *root = NULL;
    int err = list_members(a);

    if (err)
        return err;
    if (!a->prefix)
        return ferry_error_set(
            FERRY_EFORMAT,
            "%s: format at byte 0: is a PyTorch export (.pt2) or another archive that contains a "
            "PyTorch archive: save the state_dict with torch.save",
            a->io->file.path);
    if (a->pickle.deflated)
        return ferry__torch_malformed(a, "data.pkl",
                                      "is deflated, which PyTorch never does: save it again");
    order = ferry__torch_member(a, "", "byteorder");
    a->swap =
        (order && order->size == 3 && memcmp(order->bytes, "big", 3) == 0) != ferry__big_endian();
    err = ferry__pickle_read(a->io, a->pickle.bytes, a->pickle.size, &root);
    return err ? err : ferry__torch_walk(a, root);
}

static int open_file(struct ferry_io *io)
{
    struct ferry__torch a = { .io = io, .visits = 1000000 + io->file.size };
    int err = open_archive(&a);

    ferry__names_free(&a.names);
    ferry__names_free(&a.arrays);
    return err;
}

/* ---- values --------------------------------------------------------------------------------- */

/* Reads a tensor that is a view: element by element, with one loop over the last axis. */
static int read_strided(struct ferry_io *io, const struct ferry__io_array *array, bool diff,
                        int64_t start, int64_t count, void *out)
{
    const struct ferry__torch_strided *own = array->own;
    const ferry_io_entry *e = &array->entry;
    size_t size = ferry__values_element(&array->data);
    unsigned char *to = out;
    int last = e->rank - 1;

    (void)io;
    (void)diff;
    for (int64_t left = count; left > 0;) {
        int64_t rest = start + (count - left), place = 0,
                n = e->shape[last] - rest % e->shape[last];

        for (int i = last; i >= 0; i--) {
            place += rest % e->shape[i] * own->stride[i];
            rest /= e->shape[i];
        }
        n = n < left ? n : left;
        for (int64_t i = 0; i < n; i++, to += size)
            memcpy(to, own->bytes + (size_t)(place + i * own->stride[last]) * size, size);
        left -= n;
    }
    if (array->data.swap)
        ferry__swap_bytes(out, count, size);
    return FERRY_OK;
}

const struct ferry__io_reader ferry__torch_reader = {
    .adoptable = true,
    .unique = true,
    .probe = probe,
    .open = open_file,
    .read = read_strided,
};
