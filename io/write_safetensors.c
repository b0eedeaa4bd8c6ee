/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes safetensors. The header contains the offsets of all values, so it comes first, and all
 * arrays have to be declared before. Values are ordered by descending element size, so that each
 * array is aligned to its elements.
 */
#include "safetensors.h"
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    char *text;
    size_t size, room;
    bool failed;
};

/* ---- text ----------------------------------------------------------------------------------- */

static void put(struct header *h, const char *text, size_t size)
{
    if (size > h->room - h->size) {
        size_t room = h->room * 2 + size + 4096;
        char *larger = realloc(h->text, room);

        if (!larger) {
            h->failed = true;
            return;
        }
        h->text = larger;
        h->room = room;
    }
    if (size > 0)
        memcpy(h->text + h->size, text, size);
    h->size += size;
}

static void put_text(struct header *h, const char *text)
{
    put(h, text, strlen(text));
}

static void put_number(struct header *h, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    put_text(h, digits);
}

static void put_string(struct header *h, const char *text)
{
    put_text(h, "\"");
    for (; *text; text++) {
        char escape[8];

        if (*text == '"' || *text == '\\')
            snprintf(escape, sizeof(escape), "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)*text);
        else
            snprintf(escape, sizeof(escape), "%c", *text);
        put_text(h, escape);
    }
    put_text(h, "\"");
}

static bool is_utf8(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p) {
        unsigned low = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
        unsigned high = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
        int more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;

        if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4 || (more > 0 && (p[1] < low || p[1] > high)))
            return false;
        for (int i = 2; i <= more; i++)
            if ((p[i] & 0xc0) != 0x80)
                return false;
        p += more + 1;
    }
    return true;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static const char *can_hold(const ferry_io_writer *w, const ferry_io_entry *entry)
{
    (void)w;
    if (entry->has_diff)
        return "it cannot hold a diff";
    if (strcmp(entry->name, "__metadata__") == 0)
        return "the format reserves that name";
    return is_utf8(entry->name) ? NULL : "its name is not UTF-8";
}

/* safetensors supports every storage of single elements. */
static bool can_store(enum ferry__storage storage)
{
    return storage < FERRY__STORED_OTHERWISE;
}

static bool takes_metadata(const ferry_io_writer *w, const char *key, const char *value)
{
    (void)w;
    return is_utf8(key) && is_utf8(value);
}

/*
 * Orders the arrays in one pass for each of the four element sizes, which keeps the order stable.
 */
static void lay_out(ferry_io_writer *w)
{
    uint64_t place = 0;

    for (size_t size = 8; size > 0; size /= 2)
        for (struct ferry__out_array *a = w->first; a; a = a->next)
            if (ferry__storage_size(a->storage, a->entry.dtype) == size) {
                a->place = place;
                place += a->bytes;
            }
}

static void put_array(struct header *h, const struct ferry__out_array *a)
{
    put_string(h, a->entry.name);
    put_text(h, ":{\"dtype\":\"");
    put_text(h, a->storage ? a->entry.storage : ferry_dtype_name(a->entry.dtype));
    put_text(h, "\",\"shape\":[");
    for (int i = 0; i < a->entry.rank; i++) {
        put_text(h, i ? "," : "");
        put_number(h, (uint64_t)a->entry.shape[i]);
    }
    put_text(h, "],\"data_offsets\":[");
    put_number(h, a->place);
    put_text(h, ",");
    put_number(h, a->place + a->bytes);
    put_text(h, "]}");
}

static void put_metadata(struct header *h, const ferry_io_writer *w)
{
    put_text(h, "\"__metadata__\":{");
    for (const struct ferry__out_metadata *m = w->metadata; m; m = m->next) {
        put_string(h, m->key);
        put_text(h, ":");
        put_string(h, m->value);
        put_text(h, m->next ? "," : "");
    }
    put_text(h, "}");
}

static void make_header(struct header *h, const ferry_io_writer *w)
{
    bool any = w->metadata != NULL;

    put_text(h, "{");
    if (any)
        put_metadata(h, w);
    for (size_t size = 8; size > 0; size /= 2)
        for (const struct ferry__out_array *a = w->first; a; a = a->next)
            if (ferry__storage_size(a->storage, a->entry.dtype) == size) {
                put_text(h, any ? "," : "");
                put_array(h, a);
                any = true;
            }
    put_text(h, "}");
    while (h->size % 8 && !h->failed)
        put_text(h, " ");
}

static int write_header(ferry_io_writer *w, const struct header *h)
{
    unsigned char length[8];
    int err;

    if (h->failed)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory for the header", w->out.shown);
    if (h->size > FERRY__SAFETENSORS_HEADER)
        return ferry_error_set(FERRY_EOVERFLOW,
                               "%s: a header of %zu bytes is above the format's "
                               "limit of %u",
                               w->out.shown, h->size, FERRY__SAFETENSORS_HEADER);
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)h->size >> 8 * i);
    err = ferry__io_out_write(&w->out, length, sizeof(length));
    return err ? err : ferry__io_out_write(&w->out, h->text, h->size);
}

static int begin(ferry_io_writer *w)
{
    struct header h = { .size = 0 };
    int err;

    lay_out(w);
    make_header(&h, w);
    err = write_header(w, &h);
    free(h.text);
    for (struct ferry__out_array *a = w->first; a; a = a->next)
        a->place += 8 + h.size;
    return err;
}

static int begin_array(ferry_io_writer *w, struct ferry__out_array *array)
{
    return ferry__io_out_seek(&w->out, array->place);
}

const struct ferry__io_writer_ops ferry__safetensors_writer = {
    .needs_plan = true,
    .unique = true,
    .can_hold = can_hold,
    .can_store = can_store,
    .takes_metadata = takes_metadata,
    .begin = begin,
    .array = begin_array,
};
