/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A byte n below 32 begins a literal run of n + 1 bytes. Any other byte begins a copy: its upper
 * three bits are the length minus two, or 7, and then a byte with the rest of the length follows;
 * its lower five bits and the next byte are the distance minus one.
 */
#include "lzf.h"

#include <string.h>

struct lzf {
    const unsigned char *at, *end;
    unsigned char *out;
    size_t made, room;
};

static int take_run(struct lzf *z, size_t n)
{
    if (n > (size_t)(z->end - z->at) || n > z->room - z->made)
        return 0;
    memcpy(z->out + z->made, z->at, n);
    z->at += n;
    z->made += n;
    return 1;
}

static int take_copy(struct lzf *z, unsigned control)
{
    size_t length = control >> 5, back = (size_t)(control & 31) << 8;

    if (length == 7) {
        if (z->at == z->end)
            return 0;
        length += *z->at++;
    }
    if (z->at == z->end)
        return 0;
    back += (size_t)*z->at++ + 1;
    length += 2;
    if (back > z->made || length > z->room - z->made)
        return 0;
    for (; length > 0; length--, z->made++) /* source and destination may overlap, which repeats
                                             * bytes */
        z->out[z->made] = z->out[z->made - back];
    return 1;
}

static int take(struct lzf *z)
{
    unsigned control = *z->at++;

    return control < 32 ? take_run(z, control + 1) : take_copy(z, control);
}

size_t ferry__lzf_decode(const unsigned char *bytes, size_t size, unsigned char *out, size_t room)
{
    struct lzf z = { bytes, bytes + size, out, 0, room };

    while (z.at < z.end)
        if (!take(&z))
            return 0;
    return z.made;
}

/*
 * The longest output of one step, the longest distance of a copy, and the size of the pieces passed
 * to the sink.
 */
#define MOST  264
#define BACK  8192
#define PIECE 65536

int ferry__lzf_stream(const unsigned char *bytes, size_t size, ferry__lzf_sink sink, void *arg)
{
    unsigned char window[BACK + PIECE];
    struct lzf z = { bytes, bytes + size, window, 0, sizeof(window) };
    size_t handed = 0;
    int err = 0;

    while (z.at < z.end && !err) {
        if (!take(&z))
            return 1;
        if (z.room - z.made >= MOST && z.at < z.end)
            continue;
        err = sink(arg, window + handed, z.made - handed);
        handed = z.made < BACK ? z.made : BACK;
        memmove(window, window + z.made - handed, handed);
        z.made = handed;
    }
    return err;
}
