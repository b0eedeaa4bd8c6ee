/* SPDX-License-Identifier: BSD-2-Clause */
#include "hdf5_filter.h"

#include "inflate.h"
#include "lzf.h"

#include <stdlib.h>
#include <string.h>

enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3, LZF = FERRY__HDF5_LZF };

#define CHECKSUM FERRY__HDF5_CHECKSUM

bool ferry__hdf5_filter_known(unsigned id)
{
    return (id == DEFLATE && ferry__inflate_available()) || id == SHUFFLE || id == FLETCHER32 ||
           id == LZF;
}

/* Returns the name of a filter by the number that The HDF Group has registered. */
const char *ferry__hdf5_filter_name(unsigned id)
{
    static const struct {
        unsigned id;
        const char *name;
    } registered[] = {
        { 1, "deflate" },      { 4, "szip" },       { 5, "nbit" },       { 6, "scaleoffset" },
        { 305, "LZO" },        { 307, "bzip2" },    { 32000, "LZF" },    { 32001, "Blosc" },
        { 32002, "MAFISC" },   { 32003, "Snappy" }, { 32004, "LZ4" },    { 32008, "bitshuffle" },
        { 32010, "LPC-Rice" }, { 32013, "ZFP" },    { 32014, "FPZip" },  { 32015, "Zstandard" },
        { 32017, "SZ" },       { 32024, "SZ3" },    { 32026, "Blosc2" },
    };

    for (size_t i = 0; i < sizeof(registered) / sizeof(registered[0]); i++)
        if (registered[i].id == id)
            return registered[i].name;
    return NULL;
}

/* ---- single filters ------------------------------------------------------------------------- */

/*
 * Fletcher's checksum: sums of big-endian 16-bit words; a last odd byte is the upper byte of a
 * word.
 */
static uint32_t fletcher32(const unsigned char *bytes, uint64_t size)
{
    uint32_t first = 0, second = 0;

    for (uint64_t i = 0; i < size; i += 2) {
        uint32_t word = (uint32_t)bytes[i] << 8 | (i + 1 < size ? bytes[i + 1] : 0u);

        first = (first + word) % 65535;
        second = (second + first) % 65535;
    }
    return second << 16 | first;
}

/* Whether two sums are equal modulo 65535, where 0 and 65535 are the same. */
static bool same_sums(uint32_t a, uint32_t b)
{
    return (a >> 16) % 65535 == (b >> 16) % 65535 && (a & 0xffff) % 65535 == (b & 0xffff) % 65535;
}

/* Compares a checksum in either byte order: libhdf5 before 1.6.3 swapped the bytes of each half. */
bool ferry__hdf5_checksum_fits(const unsigned char *bytes, uint64_t size)
{
    const unsigned char *c = bytes + size;
    uint32_t sum = fletcher32(bytes, size);
    uint32_t now = (uint32_t)c[3] << 24 | (uint32_t)c[2] << 16 | (uint32_t)c[1] << 8 | c[0];
    uint32_t once = (uint32_t)c[2] << 24 | (uint32_t)c[3] << 16 | (uint32_t)c[0] << 8 | c[1];

    return same_sums(sum, now) || same_sums(sum, once);
}

static const char *inflate_all(const unsigned char *bytes, uint64_t size, unsigned char *out,
                               uint64_t out_size)
{
    struct ferry__inflate *inflate = ferry__inflate_open(bytes, size, 1);
    int failed;

    if (!inflate)
        return "";
    failed = ferry__inflate_read(inflate, out, (size_t)out_size);
    ferry__inflate_close(inflate);
    return failed ? "its deflated bytes are damaged or truncated" : NULL;
}

/*
 * Undoes the shuffle, which stores the first bytes of all elements, then all second bytes, and so
 * on; bytes after the last whole element are not moved.
 */
static void unshuffle(const unsigned char *bytes, uint64_t size, uint64_t element,
                      unsigned char *out)
{
    uint64_t n = element ? size / element : 0;

    for (uint64_t k = 0; k < element; k++)
        for (uint64_t i = 0; i < n; i++)
            out[i * element + k] = bytes[k * n + i];
    memcpy(out + n * element, bytes + n * element, (size_t)(size - n * element));
}

/* ---- chains of filters ---------------------------------------------------------------------- */

/*
 * Undoes one filter from `from` into `to`, which has `room` bytes; *size becomes the size of the
 * result, which must be `want` for a compressing filter.
 */
static const char *undo(unsigned id, uint64_t element, const unsigned char *from, unsigned char *to,
                        uint64_t room, uint64_t *size, uint64_t want)
{
    const char *wrong = NULL;

    if (id == FLETCHER32)
        want = *size < CHECKSUM ? 0 : *size - CHECKSUM;
    else if (id == SHUFFLE)
        want = *size;
    if (want > room)
        return "it is longer than the dataset's header claims";
    if (id == DEFLATE)
        wrong = inflate_all(from, *size, to, want);
    else if (id == LZF)
        wrong = ferry__lzf_decode(from, (size_t)*size, to, (size_t)want) == want
                    ? NULL
                    : "its LZF bytes are damaged";
    else if (id == FLETCHER32 && (*size < CHECKSUM || !ferry__hdf5_checksum_fits(from, want)))
        return "its checksum is wrong";
    else if (id == SHUFFLE)
        unshuffle(from, want, element, to);
    else
        memcpy(to, from, (size_t)want);
    *size = want;
    return wrong;
}

/*
 * The input size of a compressing filter: `size` bytes, and the checksums of the preceding filters.
 */
static uint64_t size_before(const struct ferry__hdf5_filters *f, uint32_t mask, unsigned i,
                            uint64_t size)
{
    for (unsigned k = 0; k < i; k++)
        if (f->id[k] == FLETCHER32 && !(mask >> k & 1))
            size += CHECKSUM;
    return size;
}

/* Whether filter i is the last one to be undone. */
static bool is_last(uint32_t mask, unsigned i)
{
    return (~mask & ((UINT64_C(1) << i) - 1)) == 0;
}

const char *ferry__hdf5_unfilter(const struct ferry__hdf5_filters *filters, uint32_t mask,
                                 const unsigned char *raw, uint64_t raw_size, unsigned char *out,
                                 uint64_t size)
{
    const uint64_t most = size > raw_size ? size : raw_size;
    const uint64_t room = most + FERRY__HDF5_FILTERS * CHECKSUM;
    unsigned char *turn[2] = { NULL, NULL };
    const unsigned char *from = raw;
    const char *wrong = NULL;
    int next = 0;

    for (unsigned i = filters->count; i-- > 0 && !wrong;) {
        bool last = is_last(mask, i);
        unsigned char *to = out;

        if (mask >> i & 1)
            continue;
        if (!last)
            to = turn[next] = turn[next] ? turn[next] : malloc((size_t)room);
        if (!to)
            wrong = "";
        else
            wrong = undo(filters->id[i], filters->element, from, to, last ? size : room, &raw_size,
                         size_before(filters, mask, i, size));
        from = to;
        next = !next;
    }
    if (!wrong && raw_size != size)
        wrong = "its size is not the one in the dataset's header";
    if (!wrong && from == raw)
        memcpy(out, from, (size_t)size);
    free(turn[0]);
    free(turn[1]);
    return wrong;
}
