/* SPDX-License-Identifier: BSD-2-Clause */
#include "write_definition.h"

#include "proto_write.h"
#include "reader.h"
#include "wire.h"

#include <string.h>

#define V1_LAYERS 2
#define V0_LAYER  1 /* the field of a V0 layer in a V1 layer */
#define V0_BLOBS  50

static const struct ferry__wire_names net_names = {
    "NetParameter",
    { { 1, "name" }, { 2, "layers" }, { 100, "layer" }, { 0, NULL } },
};
static const struct ferry__wire_names v0_names = {
    "V0LayerParameter",
    { { 50, "blobs" }, { 0, NULL } },
};

/* Field numbers of name and blobs: in a layer of the current form, and in a V1 layer. */
static const struct form {
    uint32_t layer, name, blobs;
    struct ferry__wire_names names;
} forms[] = {
    { 100, 1, 7, { "LayerParameter", { { 1, "name" }, { 7, "blobs" }, { 0, NULL } } } },
    { V1_LAYERS, 4, 6, { "V1LayerParameter", { { 4, "name" }, { 6, "blobs" }, { 0, NULL } } } },
};

/* The form of a field that is a layer; NULL: the field is not a layer. */
static const struct form *form_of(const struct ferry__field *field)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (forms[i].layer == field->number)
            return &forms[i];
    return NULL;
}

/* The rest of the definition; messages refer to `file`. */
static struct ferry__wire rest_of(const ferry_io_writer *w, struct ferry__io_file *file)
{
    *file = (struct ferry__io_file){ .fd = -1 };
    file->path = w->definition.lender ? w->definition.lender : w->out.shown;
    file->bytes = w->definition.bytes;
    file->size = w->definition.size;
    return (struct ferry__wire){ file, &net_names, w->definition.at,
                                 w->definition.bytes + w->definition.size, false };
}

/* ---- the layers of the definition ----------------------------------------------------------- */

/* A layer's name, "" if it is missing, and the size of its names and blobs. */
struct layer {
    struct ferry__field name;
    uint64_t names, blobs; /* sizes in bytes, with tags and lengths; if there are several names, the
                            * last one counts */
};

static int look(const struct ferry__wire *net, const struct ferry__field *field, struct layer *out)
{
    const struct form *form = form_of(field);
    struct ferry__wire wire;
    struct ferry__field inner;
    int got = ferry__wire_enter(net, field, &form->names, &wire);

    memset(out, 0, sizeof(*out));
    while (!got && (got = ferry__wire_next(&wire, &inner)) > 0) {
        got = FERRY_OK;
        if (inner.number == form->blobs)
            out->blobs += (uint64_t)(wire.at - inner.tag);
        if (inner.number == form->name) {
            got = ferry__wire_expect(&wire, &inner, FERRY__WIRE_BYTES);
            out->name = inner;
            out->names += (uint64_t)(wire.at - inner.tag);
        }
    }
    return got;
}

/* Refuses layers of Caffe's first form, which keeps the blobs one level deeper. */
static int refuse_v0(const struct ferry__wire *net, const struct ferry__field *layer)
{
    struct ferry__wire wire, v0;
    struct ferry__field field, inner;
    int got = ferry__wire_enter(net, layer, &forms[1].names, &wire);

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0) {
        got = field.number == V0_LAYER ? ferry__wire_enter(&wire, &field, &v0_names, &v0) : 0;
        while (!got && field.number == V0_LAYER && (got = ferry__wire_next(&v0, &inner)) > 0)
            got = inner.number == V0_BLOBS ? ferry__wire_error(&v0, &inner, FERRY_EUNSUPPORTED,
                                                               "is of Caffe's first form")
                                           : FERRY_OK;
    }
    return got;
}

static int check_layer(const ferry_io_writer *w, const struct ferry__wire *net,
                       const struct ferry__field *field)
{
    struct layer layer;
    int err;

    if (field->number == V1_LAYERS && !w->definition.lender)
        return ferry__wire_error(net, field, FERRY_EFORMAT,
                                 "a definition must have the current form");
    err = look(net, field, &layer);
    if (!err && layer.blobs && !w->definition.lender)
        return ferry__wire_error(net, field, FERRY_EFORMAT, "a definition must not contain blobs");
    return err || field->number != V1_LAYERS ? err : refuse_v0(net, field);
}

static int check(const ferry_io_writer *w)
{
    struct ferry__io_file file;
    struct ferry__wire wire = rest_of(w, &file);
    struct ferry__field field;
    int got = FERRY_OK;

    while (!got && (got = ferry__wire_next(&wire, &field)) > 0)
        got = form_of(&field) ? check_layer(w, &wire, &field) : FERRY_OK;
    return got;
}

int ferry__definition_set(ferry_io_writer *w, const void *bytes, size_t size, char *lender)
{
    unsigned char *copy = lender ? NULL : ferry__mem_alloc(&w->arena, size + 1);
    int err;

    if (!lender && !copy)
        return ferry_error_set(FERRY_ENOMEM, "%s: out of memory", w->out.shown);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    w->definition.bytes = w->definition.at = lender ? bytes : copy;
    w->definition.size = size;
    w->definition.lender = lender;
    err = check(w);
    if (err)
        memset(&w->definition, 0, sizeof(w->definition));
    return err;
}

static int define(ferry_io_writer *w, const void *bytes, size_t size, char *lender)
{
    if (w->begun || w->count > 0)
        return ferry_error_set(
            FERRY_EINVAL, "%s: the definition must be set before the first array", w->out.shown);
    if (!w->ops->define || w->format != FERRY_IO_CAFFEMODEL)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: %s cannot hold a net's definition",
                               w->out.shown, ferry_io_format_name(w->format));
    return w->ops->define(w, bytes, size, lender);
}

int ferry_io_writer_set_definition(ferry_io_writer *w, const void *bytes, size_t size)
{
    if (!w || (!bytes && size > 0))
        return ferry_error_set(FERRY_EINVAL, "ferry_io_writer_set_definition: an argument is NULL");
    return define(w, bytes, size, NULL);
}

int ferry_io_writer_copy_definition(ferry_io_writer *w, ferry_io *from)
{
    if (!w || !from)
        return ferry_error_set(FERRY_EINVAL,
                               "ferry_io_writer_copy_definition: an argument is NULL");
    if (from->format != FERRY_IO_CAFFEMODEL)
        return ferry_error_set(FERRY_EUNSUPPORTED, "%s: a %s has no net definition",
                               from->file.path, ferry_io_format_name(from->format));
    return define(w, from->file.bytes, (size_t)from->file.size, from->file.path);
}

/* ---- writing it ----------------------------------------------------------------------------- */

static int put_bytes(ferry_io_writer *w, const unsigned char *begin, const unsigned char *end)
{
    return ferry__io_out_write(&w->out, begin, (size_t)(end - begin));
}

static int put_name(ferry_io_writer *w, const struct form *form,
                    const struct ferry__definition_name *name)
{
    struct ferry__proto_piece piece = { .size = 0 };
    int err;

    ferry__proto_put_tag(&piece, form->name, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, name->size);
    err = ferry__io_out_write(&w->out, piece.bytes, piece.size);
    return err ? err : ferry__io_out_write(&w->out, name->text, name->size);
}

/* Writes the fields of a layer except its blobs; `name`, if not NULL, replaces its last name. */
static int put_fields(ferry_io_writer *w, const struct form *form, struct ferry__wire wire,
                      const struct layer *layer, const struct ferry__definition_name *name)
{
    struct ferry__field inner;
    int got = FERRY_OK;

    while (!got && (got = ferry__wire_next(&wire, &inner)) > 0) {
        bool is_name = name && inner.number == form->name;

        if (inner.number == form->blobs || (is_name && inner.tag != layer->name.tag))
            got = FERRY_OK;
        else
            got = is_name ? put_name(w, form, name) : put_bytes(w, inner.tag, wire.at);
    }
    return got;
}

/*
 * Writes a layer except its blobs; its length includes `blobs_size` bytes for them. `name` is its
 * new name; NULL: unchanged.
 */
static int put_layer(ferry_io_writer *w, const struct ferry__wire *net,
                     const struct ferry__field *field, const struct ferry__definition_name *name,
                     uint64_t blobs_size)
{
    const struct form *form = form_of(field);
    struct ferry__proto_piece piece = { .size = 0 };
    struct ferry__wire wire;
    struct layer layer;
    uint64_t size;
    int got = look(net, field, &layer);

    if (!got)
        got = ferry__wire_enter(net, field, &form->names, &wire);
    if (got)
        return got;
    size = field->size - layer.blobs + blobs_size;
    if (name) /* the tag of a name has one byte */
        size += 1 + ferry__proto_varint_size(name->size) + name->size - layer.names;
    ferry__proto_put_tag(&piece, form->layer, FERRY__WIRE_BYTES);
    ferry__proto_put_varint(&piece, size);
    got = ferry__io_out_write(&w->out, piece.bytes, piece.size);
    return got ? got : put_fields(w, form, wire, &layer, name);
}

/* Writes everything from the end of the last layer up to `end`; layers without their blobs. */
static int put_until(ferry_io_writer *w, const unsigned char *end)
{
    struct ferry__io_file file;
    struct ferry__wire wire = rest_of(w, &file);
    struct ferry__field field;
    int got = FERRY_OK;

    wire.end = end;
    while (!got && (got = ferry__wire_next(&wire, &field)) > 0)
        got = form_of(&field) ? put_layer(w, &wire, &field, NULL, 0)
                              : put_bytes(w, field.tag, wire.at);
    w->definition.at = end;
    return got;
}

static bool same(const struct ferry__definition_name *a, const void *bytes, uint64_t size)
{
    return a->size == size && (size == 0 || memcmp(a->text, bytes, a->size) == 0);
}

/*
 * The next layer of that name after the last one: 1, 0 if there is none. In a lent definition only
 * layers with blobs count. The bytes have been checked.
 */
static int find(const ferry_io_writer *w, const struct ferry__definition_name *name,
                struct ferry__field *out)
{
    struct ferry__io_file file;
    struct ferry__wire wire = rest_of(w, &file);
    struct layer has;

    while (ferry__wire_next(&wire, out) > 0)
        if (form_of(out) && look(&wire, out, &has) == FERRY_OK &&
            (has.blobs || !w->definition.lender) && same(name, has.name.bytes, has.name.size))
            return 1;
    return 0;
}

int ferry__definition_put_layer(ferry_io_writer *w, struct ferry__definition_name former,
                                struct ferry__definition_name name, uint64_t blobs_size)
{
    bool renamed = !same(&former, name.text, name.size);
    struct ferry__io_file file;
    struct ferry__field layer;
    struct ferry__wire wire;
    int err;

    if (!find(w, &former, &layer))
        return ferry_error_set(
            FERRY_EINVAL, "%s: the definition has no layer \"%.*s\" after the previous layer",
            w->out.shown, former.size < 200 ? (int)former.size : 200, former.text);
    err = put_until(w, layer.tag);
    wire = rest_of(w, &file);
    if (!err)
        err = put_layer(w, &wire, &layer, renamed ? &name : NULL, blobs_size);
    w->definition.at = layer.bytes + layer.size;
    w->definition.blobs = form_of(&layer)->blobs;
    return err;
}

int ferry__definition_put_rest(ferry_io_writer *w)
{
    return w->definition.bytes ? put_until(w, w->definition.bytes + w->definition.size) : FERRY_OK;
}
