/* SPDX-License-Identifier: BSD-2-Clause */
#include "hdf5_text.h"
#include "hdf5_proof.h"
#include "hdf5_set.h"

#include <stdlib.h>
#include <string.h>

/* Reads a string of fixed length, padded or terminated by a NUL. */
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

/* ---- strings of variable length ------------------------------------------------------------- */

/*
 * A string of variable length. The dataset holds a reference: the string's length in 4 bytes, the
 * address of a collection of objects, and the object's index in 4 bytes. Each object has a length
 * of its own. libhdf5 allocates by the length in the reference and reads by the object's length, so
 * both have to agree.
 */
struct layout {
    const struct ferry__io_file *file;
    size_t address, length; /* the sizes of an address and of a length */
    hsize_t base;           /* the base that is added to each address */
};

struct reference {
    uint64_t length, address, index;
};

static bool layout_of(const struct ferry_io *io, hid_t set, struct layout *out)
{
    hid_t file = H5Iget_file_id(set);
    hid_t plist = file < 0 ? -1 : H5Fget_create_plist(file);

    *out = (struct layout){ .file = &io->file };
    if (plist >= 0) {
        if (H5Pget_sizes(plist, &out->address, &out->length) < 0 ||
            H5Pget_userblock(plist, &out->base) < 0)
            out->address = 0;
        H5Pclose(plist);
    }
    if (file >= 0)
        H5Fclose(file);
    return out->address > 0 && out->address <= 8 && out->length > 0 && out->length <= 8;
}

static bool inside(const struct layout *in, uint64_t at, uint64_t size)
{
    return at <= in->file->size && in->file->size - at >= size;
}

static uint64_t number(const struct layout *in, uint64_t at, size_t size)
{
    uint64_t value = 0;

    for (size_t i = size; i > 0; i--)
        value = value << 8 | in->file->bytes[at + i - 1];
    return value;
}

static uint64_t round_up(uint64_t n)
{
    return (n + 7) / 8 * 8;
}

/* Whether the collection has the object, with the length in the reference. */
static bool agrees(const struct layout *in, const struct reference *to)
{
    uint64_t head = round_up(8 + in->length), at = in->base + to->address, end, index, size;
    bool found = false;

    if (at < in->base || !inside(in, at, head) || memcmp(in->file->bytes + at, "GCOL", 4) != 0)
        return false;
    end = number(in, at + 8, in->length);
    if (!inside(in, at, end))
        return false;
    end += at;
    for (at += head; at < end && end - at >= head; at += index ? head + round_up(size) : size) {
        index = number(in, at, 2);
        size = number(in, at + 8, in->length);
        if (size > end - at || (index && round_up(size) > end - at - head) || (!index && size == 0))
            return found && index == 0 && size == 0;
        if (index && index == to->index && size != to->length)
            return false;
        found = found || (index && index == to->index);
    }
    return found;
}

/*
 * Whether the reference is valid: libhdf5 gives its place in an object's header, or there is no
 * reference yet.
 */
static bool is_sound(const struct ferry_io *io, hid_t set)
{
    haddr_t at = H5Dget_offset(set);
    struct layout in;
    struct reference to;

    if (!layout_of(io, set, &in) || at == HADDR_UNDEF || at == HADDR_UNDEF + in.base)
        return true;
    if (!inside(&in, at, 8 + in.address))
        return false;
    to.length = number(&in, at, 4);
    to.address = number(&in, at + 4, in.address);
    to.index = number(&in, at + 4 + in.address, 4);
    return to.address == 0 || agrees(&in, &to);
}

static int read_variable(struct ferry_io *io, const char *path, hid_t set,
                         const struct ferry__hdf5_header *header, char **out)
{
    char *text = NULL;
    herr_t got;

    if (!is_sound(io, set))
        return ferry_error_set(FERRY_EFORMAT,
                               "%s: %.200s: is damaged: its length differs from that of its text",
                               io->file.path, path);
    ferry__hdf5_lean_begin();
    got = H5Dread(set, header->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text);
    ferry__hdf5_lean_end();
    if (got < 0)
        return ferry__hdf5_fail(io, FERRY_EFORMAT, path, "its text cannot be read");
    *out = ferry__io_string(io, text ? text : "", text ? strlen(text) : 0);
    H5Dvlen_reclaim(header->type, header->space, H5P_DEFAULT, &text);
    return *out ? FERRY_OK : ferry_last_error_code();
}

int ferry__hdf5_text_read(struct ferry_io *io, const char *path, hid_t set,
                          const struct ferry__hdf5_header *header, char **out)
{
    *out = NULL;
    if (H5Tis_variable_str(header->type) > 0)
        return read_variable(io, path, set, header, out);
    *out = read_fixed(io, set, header->type);
    return FERRY_OK;
}
