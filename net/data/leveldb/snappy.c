/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/data/leveldb/snappy.h"

#include "net/data/leveldb/bytes.h"

#include <string.h>

/*
 * The maximum number of bytes that an element decodes to: an element of three bytes copies at most
 * 64.
 */
#define MOST_PER_ELEMENT 64
#define ELEMENT_SIZE     3

static bool take_head(struct ferry__span *in, size_t *out)
{
    uint64_t length;

    if (!ferry__span_varint(in, UINT32_MAX, &length))
        return false;
    *out = (size_t)length;
    return length <= ((uint64_t)in->left / ELEMENT_SIZE + 1) * MOST_PER_ELEMENT;
}

bool ferry__snappy_length(const void *bytes, size_t size, size_t *out)
{
    struct ferry__span in = { bytes, size };

    return take_head(&in, out);
}

/* The length of a literal: in its tag, or in 1 to 4 bytes after it. */
static bool literal_length(struct ferry__span *in, unsigned tag, size_t *out)
{
    const unsigned char *more;
    size_t length = tag >> 2;

    if (length >= 60) {
        int bytes = (int)length - 59;

        if (!ferry__span_take(in, (uint64_t)bytes, &more))
            return false;
        length = (size_t)ferry__le(more, bytes);
    }
    *out = length + 1;
    return true;
}

/* The length and the distance of a copy. */
static bool copy_of(struct ferry__span *in, unsigned tag, size_t *out_length, size_t *out_back)
{
    int bytes = (tag & 3) == 3 ? 4 : (int)(tag & 3);
    const unsigned char *more;

    if (!ferry__span_take(in, (uint64_t)bytes, &more))
        return false;
    *out_back = (size_t)ferry__le(more, bytes);
    *out_length = (tag >> 2) + 1;
    if (bytes == 1) {
        *out_back |= (size_t)(tag >> 5) << 8;
        *out_length = (tag >> 2 & 7) + 4;
    }
    return true;
}

bool ferry__snappy_expand(const void *bytes, size_t size, unsigned char *out, size_t length)
{
    struct ferry__span in = { bytes, size };
    const unsigned char *from;
    size_t at = 0, n, back;

    if (!take_head(&in, &n) || n != length)
        return false;
    while (ferry__span_take(&in, 1, &from)) {
        unsigned tag = *from;

        if ((tag & 3) == 0) {
            if (!literal_length(&in, tag, &n) || n > length - at ||
                !ferry__span_take(&in, n, &from))
                return false;
            memcpy(out + at, from, n);
            at += n;
            continue;
        }
        if (!copy_of(&in, tag, &n, &back) || n > length - at || !back || back > at)
            return false;
        for (; n; n--, at++) /* the source may overlap the copy */
            out[at] = out[at - back];
    }
    return at == length;
}
