/* SPDX-License-Identifier: BSD-2-Clause */
#include "npy_write.h"
#include "writer.h"

#include <stdio.h>
#include <string.h>

static const char *descr_of(ferry_dtype dtype)
{
    switch (dtype) {
    case FERRY_F32:
        return "<f4";
    case FERRY_F64:
        return "<f8";
    case FERRY_F16:
        return "<f2";
    case FERRY_I8:
        return "|i1";
    case FERRY_U8:
        return "|u1";
    case FERRY_I32:
        return "<i4";
    case FERRY_I64:
        return "<i8";
    case FERRY_U32:
        return "<u4";
    default:
        return NULL;
    }
}

static const char *descr_of_storage(enum ferry__storage storage)
{
    switch (storage) {
    case FERRY__STORED_U16:
        return "<u2";
    case FERRY__STORED_U64:
        return "<u8";
    case FERRY__STORED_I16:
        return "<i2";
    case FERRY__STORED_BOOL:
        return "|b1";
    default:
        return NULL;
    }
}

bool ferry__npy_can_store(enum ferry__storage storage)
{
    return descr_of_storage(storage) != NULL;
}

const char *ferry__npy_can_hold(const ferry_io_entry *entry)
{
    if (!descr_of(entry->dtype))
        return "NumPy has no such dtype";
    if (entry->has_diff)
        return "it cannot hold a diff";
    return NULL;
}

size_t ferry__npy_make_header(const ferry_io_entry *entry, char out[FERRY__NPY_HEADER_MAX])
{
    const size_t fixed = 10, alignment = 64;
    char *text = out + fixed;
    const char *descr = descr_of_storage(ferry__storage_named(entry->storage));
    size_t room = FERRY__NPY_HEADER_MAX - fixed, size, total;

    size = (size_t)snprintf(text, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                            descr ? descr : descr_of(entry->dtype));
    for (int i = 0; i < entry->rank; i++)
        size += (size_t)snprintf(text + size, room - size, "%s%lld%s", i ? " " : "",
                                 (long long)entry->shape[i],
                                 i + 1 < entry->rank || entry->rank == 1 ? "," : "");
    size += (size_t)snprintf(text + size, room - size, "), }");
    total = (fixed + size + 1 + alignment - 1) / alignment * alignment;
    memset(text + size, ' ', total - fixed - size);
    out[total - 1] = '\n';
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (char)((total - fixed) & 0xff);
    out[9] = (char)((total - fixed) >> 8);
    return total;
}

static const char *can_hold(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    (void)w;
    return ferry__npy_can_hold(entry);
}

static int begin_array(ferry_io_writer *w, struct ferry__out_array *array)
{
    char header[FERRY__NPY_HEADER_MAX];

    return ferry__io_out_write(&w->out, header, ferry__npy_make_header(&array->entry, header));
}

const struct ferry__io_writer_ops ferry__npy_writer = {
    .single = true,
    .can_hold = can_hold,
    .can_store = ferry__npy_can_store,
    .array = begin_array,
};
