/* SPDX-License-Identifier: BSD-2-Clause */
#include "inflate.h"

#ifdef FERRY_IO_HAVE_ZLIB

#include <stdlib.h>
#include <zlib.h>

struct ferry__inflate {
    z_stream stream;
    const unsigned char *at;
    uint64_t left;
};

int ferry__inflate_available(void)
{
    return 1;
}

struct ferry__inflate *ferry__inflate_open(const unsigned char *bytes, uint64_t size, int wrapped)
{
    struct ferry__inflate *self = calloc(1, sizeof(*self));
    const int window = wrapped ? 15 : -15;

    if (!self)
        return NULL;
    self->at = bytes;
    self->left = size;
    if (inflateInit2(&self->stream, window) == Z_OK)
        return self;
    free(self);
    return NULL;
}

/* Limits a size to 32 bits, in which zlib counts input and output. */
static uInt clamp(uint64_t size)
{
    const uInt most = 1u << 30;

    return size < most ? (uInt)size : most;
}

int ferry__inflate_read(struct ferry__inflate *self, void *out, size_t size)
{
    z_stream *z = &self->stream;
    unsigned char *to = out;

    while (size > 0) {
        uInt given = clamp(self->left), room = clamp(size), made;
        int result;

        z->next_in = (z_const Bytef *)(uintptr_t)self->at;
        z->avail_in = given;
        z->next_out = to;
        z->avail_out = room;
        result = inflate(z, Z_NO_FLUSH);
        made = room - z->avail_out;
        /* the end of the stream is an error only if requested bytes are missing */
        if (result != Z_OK && (result != Z_STREAM_END || made < size))
            return -1;
        self->at += given - z->avail_in;
        self->left -= given - z->avail_in;
        to += made;
        size -= made;
    }
    return 0;
}

void ferry__inflate_close(struct ferry__inflate *self)
{
    if (!self)
        return;
    inflateEnd(&self->stream);
    free(self);
}

#else

int ferry__inflate_available(void)
{
    return 0;
}

struct ferry__inflate *ferry__inflate_open(const unsigned char *bytes, uint64_t size, int wrapped)
{
    (void)bytes;
    (void)size;
    (void)wrapped;
    return NULL;
}

int ferry__inflate_read(struct ferry__inflate *self, void *out, size_t size)
{
    (void)self;
    (void)out;
    (void)size;
    return -1;
}

void ferry__inflate_close(struct ferry__inflate *self)
{
    (void)self;
}

#endif
