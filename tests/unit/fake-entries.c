/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake-entries.h"

#include <string.h>

uint32_t fake_flags = FERRY_DEVICE_POINTERS;

int fake_device_open(void *plugin, uint32_t index, void **out)
{
    static char one;

    (void)plugin, (void)index;
    *out = &one;
    return 0;
}

void fake_device_close(void *dev)
{
    (void)dev;
}

int fake_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out)
{
    (void)plugin, (void)index, (void)dev;
    out->flags = fake_flags;
    return 0;
}

int fake_synchronize(void *dev)
{
    (void)dev;
    return 0;
}

int fake_done(void *dev, void *object)
{
    (void)dev, (void)object;
    return 0;
}

int fake_free(void *dev, void *queue, void *handle)
{
    (void)dev, (void)queue, (void)handle;
    return 0;
}

int fake_copy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src, uint64_t bytes)
{
    (void)dev, (void)queue, (void)kind;
    memmove((char *)dst.handle + dst.offset, (const char *)src.handle + src.offset, bytes);
    return 0;
}

int fake_set(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes)
{
    (void)dev, (void)queue;
    if (dst.handle)
        memset((char *)dst.handle + dst.offset, (int)byte, bytes);
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int op_create(void *dev, const ferry_op_desc *op, void **out)
{
    static char one;

    (void)dev, (void)op;
    *out = &one;
    return 0;
}

/* 16 bytes of the second input are packed, if there is any memory for them. */
static int op_prepare(void *dev, void *queue, void *prepared, const ferry_cref *in,
                      ferry_ref packed)
{
    (void)dev, (void)queue, (void)prepared;
    if (packed.handle)
        memcpy((char *)packed.handle + packed.offset, (const char *)in[1].handle + in[1].offset,
               16);
    return 0;
}

static void op_destroy(void *dev, void *prepared)
{
    (void)dev, (void)prepared;
}

ferry_op_table fake_operations = {
    .struct_size = sizeof fake_operations,
    .create = op_create,
    .prepare = op_prepare,
    .destroy = op_destroy,
};

int fake_extension(void *dev, const char *name, const void **out)
{
    (void)dev, (void)name;
    *out = &fake_operations;
    return 0;
}
