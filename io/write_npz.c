/* SPDX-License-Identifier: BSD-2-Clause */
/* A zip of .npy files, stored uncompressed and aligned so that the values can be mapped. */
#include "crc32.h"
#include "npy_write.h"
#include "writer.h"
#include "zip.h"

#include <string.h>

#define ALIGNMENT 64u
/* The extra field that zipalign uses for alignment. */
#define PADDING_ID 0xd935u

struct bytes {
    unsigned char at[128];
    size_t size;
};

static void put(struct bytes *b, uint64_t value, int size)
{
    for (; size > 0; size--, value >>= 8)
        b->at[b->size++] = (unsigned char)value;
}

/* ---- members -------------------------------------------------------------------------------- */

static const char *can_hold(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    (void)w;
    if (strlen(entry->name) > FERRY__ZIP_FULL16 - 4)
        return "its name is too long for a zip file";
    return ferry__npy_can_hold(entry);
}

static uint64_t member_size(const struct ferry__out_array *array)
{
    char header[FERRY__NPY_HEADER_MAX];

    return ferry__npy_make_header(&array->entry, header) + array->bytes;
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

/*
 * Writes the fields that the local header and the directory share: version, flags, method, date,
 * crc, sizes.
 */
static void put_common(struct bytes *b, const struct ferry__out_array *array, uint32_t crc)
{
    uint64_t size = member_size(array);
    unsigned utf8 = is_ascii(array->entry.name) ? 0 : 0x800;
    const unsigned first_day = 0x21; /* 1 January 1980, so that equal input gives equal files */

    put(b, size >= FERRY__ZIP_FULL32 || array->place >= FERRY__ZIP_FULL32 ? 45 : 20, 2);
    put(b, utf8, 2);
    put(b, 0, 2);
    put(b, 0, 2);
    put(b, first_day, 2);
    put(b, crc, 4);
    put(b, size >= FERRY__ZIP_FULL32 ? FERRY__ZIP_FULL32 : size, 4);
    put(b, size >= FERRY__ZIP_FULL32 ? FERRY__ZIP_FULL32 : size, 4);
    put(b, strlen(array->entry.name) + 4, 2);
}

static int put_name(ferry_io_writer *w, const struct ferry__out_array *array)
{
    int err = ferry__io_out_write(&w->out, array->entry.name, strlen(array->entry.name));

    return err ? err : ferry__io_out_write(&w->out, ".npy", 4);
}

/*
 * Writes what follows the fixed fields: the name, the sizes beyond 32 bits, and the padding that
 * aligns the values.
 */
static int put_extra_and_name(ferry_io_writer *w, const struct ferry__out_array *array,
                              struct bytes *local)
{
    struct bytes extra = { .size = 0 };
    uint64_t size = member_size(array), after;
    size_t fill;
    int err;

    if (size >= FERRY__ZIP_FULL32) {
        put(&extra, 1, 2);
        put(&extra, 16, 2);
        put(&extra, size, 8);
        put(&extra, size, 8);
    }
    after = array->place + local->size + 2 + strlen(array->entry.name) + 4 + extra.size + 6;
    fill = (size_t)((ALIGNMENT - after % ALIGNMENT) % ALIGNMENT);
    put(&extra, PADDING_ID, 2);
    put(&extra, 2 + fill, 2);
    put(&extra, ALIGNMENT, 2);
    for (; fill > 0; fill--)
        put(&extra, 0, 1);
    put(local, extra.size, 2);
    err = ferry__io_out_write(&w->out, local->at, local->size);
    if (!err)
        err = put_name(w, array);
    return err ? err : ferry__io_out_write(&w->out, extra.at, extra.size);
}

static int begin_array(ferry_io_writer *w, struct ferry__out_array *array)
{
    char header[FERRY__NPY_HEADER_MAX];
    struct bytes local = { .size = 0 };
    size_t size = ferry__npy_make_header(&array->entry, header);
    int err;

    array->place = w->out.position;
    array->mark = ferry__crc32(0, header, size);
    put(&local, 0x04034b50u, 4);
    put_common(&local, array, 0); /* the checksum is written after the values */
    err = put_extra_and_name(w, array, &local);
    return err ? err : ferry__io_out_write(&w->out, header, size);
}

static int put_values(ferry_io_writer *w, struct ferry__out_array *array, const void *values,
                      size_t size)
{
    uint32_t checksum = (uint32_t)array->mark;
    int err = ferry__io_out_values(&w->out, values, size, array->alike, &checksum);

    array->mark = checksum;
    return err;
}

static int end_array(ferry_io_writer *w, struct ferry__out_array *array)
{
    const uint64_t crc_place = 14;
    uint64_t here = w->out.position;
    struct bytes crc = { .size = 0 };
    int err;

    put(&crc, array->mark, 4);
    err = ferry__io_out_seek(&w->out, array->place + crc_place);
    if (!err)
        err = ferry__io_out_write(&w->out, crc.at, crc.size);
    return err ? err : ferry__io_out_seek(&w->out, here);
}

/* ---- the directory -------------------------------------------------------------------------- */

static int put_entry(ferry_io_writer *w, const struct ferry__out_array *array)
{
    uint64_t size = member_size(array);
    struct bytes entry = { .size = 0 }, wide = { .size = 0 };
    int err;

    if (size >= FERRY__ZIP_FULL32) {
        put(&wide, size, 8);
        put(&wide, size, 8);
    }
    if (array->place >= FERRY__ZIP_FULL32)
        put(&wide, array->place, 8);
    put(&entry, 0x02014b50u, 4);
    put(&entry, 3u << 8 | 45, 2); /* made on Unix */
    put_common(&entry, array, (uint32_t)array->mark);
    put(&entry, wide.size ? wide.size + 4 : 0, 2);
    put(&entry, 0, 2); /* length of the comment */
    put(&entry, 0, 2); /* disk number */
    put(&entry, 0, 2);
    put(&entry, 0100644ul << 16, 4); /* a regular file, readable for all */
    put(&entry, array->place >= FERRY__ZIP_FULL32 ? FERRY__ZIP_FULL32 : array->place, 4);
    err = ferry__io_out_write(&w->out, entry.at, entry.size);
    if (!err)
        err = put_name(w, array);
    if (err || !wide.size)
        return err;
    entry.size = 0;
    put(&entry, 1, 2);
    put(&entry, wide.size, 2);
    memcpy(entry.at + entry.size, wide.at, wide.size);
    return ferry__io_out_write(&w->out, entry.at, entry.size + wide.size);
}

static void put_end64(struct bytes *b, uint64_t count, uint64_t place, uint64_t size)
{
    put(b, 0x06064b50u, 4);
    put(b, 44, 8);
    put(b, 3u << 8 | 45, 2);
    put(b, 45, 2);
    put(b, 0, 8);
    put(b, count, 8);
    put(b, count, 8);
    put(b, size, 8);
    put(b, place, 8);
    put(b, 0x07064b50u, 4); /* the locator of the ZIP64 end record */
    put(b, 0, 4);
    put(b, place + size, 8);
    put(b, 1, 4);
}

static int finish(ferry_io_writer *w)
{
    uint64_t place = w->out.position, count = (uint64_t)w->count, size;
    struct bytes end = { .size = 0 };
    int err = FERRY_OK;

    for (const struct ferry__out_array *array = w->first; array && !err; array = array->next)
        err = put_entry(w, array);
    if (err)
        return err;
    size = w->out.position - place;
    if (count >= FERRY__ZIP_FULL16 || size >= FERRY__ZIP_FULL32 || place >= FERRY__ZIP_FULL32)
        put_end64(&end, count, place, size);
    put(&end, 0x06054b50u, 4);
    put(&end, 0, 4);
    put(&end, count >= FERRY__ZIP_FULL16 ? FERRY__ZIP_FULL16 : count, 2);
    put(&end, count >= FERRY__ZIP_FULL16 ? FERRY__ZIP_FULL16 : count, 2);
    put(&end, size >= FERRY__ZIP_FULL32 ? FERRY__ZIP_FULL32 : size, 4);
    put(&end, place >= FERRY__ZIP_FULL32 ? FERRY__ZIP_FULL32 : place, 4);
    put(&end, 0, 2);
    return ferry__io_out_write(&w->out, end.at, end.size);
}

const struct ferry__io_writer_ops ferry__npz_writer = {
    .unique = true,
    .can_hold = can_hold,
    .can_store = ferry__npy_can_store,
    .array = begin_array,
    .values = put_values,
    .end = end_array,
    .finish = finish,
};
