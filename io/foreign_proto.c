/* SPDX-License-Identifier: BSD-2-Clause */
#include "foreign_proto.h"

#include "foreign_magic.h"
#include "wire.h"

/* The fields that a message has: for each wire type one bit for each number below 32. */
struct seen {
    uint32_t varint, bytes;       /* one bit for each field number */
    bool other;                   /* there is a field of another wire type, or with a higher
                                   * number */
    bool large;                   /* there is a length-delimited field with number 200 or more */
    bool whole;                   /* the message is complete */
    struct ferry__field first[8]; /* the first length-delimited field of each number */
};

static struct seen look(struct ferry__wire wire)
{
    struct seen seen = { .varint = 0 };
    struct ferry__field field;
    int got;

    while ((got = ferry__wire_next(&wire, &field)) > 0) {
        uint32_t bit = field.number < 32 ? 1u << field.number : 0;
        bool bytes = field.type == FERRY__WIRE_BYTES;

        if (bytes && field.number < 8 && !(seen.bytes & bit))
            seen.first[field.number] = field;
        seen.bytes |= bytes ? bit : 0;
        seen.varint |= field.type == FERRY__WIRE_VARINT ? bit : 0;
        seen.large |= bytes && field.number >= 200;
        seen.other |= !bit || (!bytes && field.type != FERRY__WIRE_VARINT);
    }
    seen.whole = got == 0;
    return seen;
}

static struct seen inside(const struct ferry__wire *wire, const struct ferry__field *field)
{
    struct ferry__wire inner = *wire;

    inner.at = field->bytes;
    inner.end = field->bytes + field->size;
    return look(inner);
}

#define BIT(n) (1u << (n))

static bool all(uint32_t seen, uint32_t wanted)
{
    return (seen & wanted) == wanted;
}

/* Whether the field is printable text and not empty. */
static bool is_word(const struct ferry__field *field)
{
    for (uint64_t i = 0; i < field->size; i++)
        if (field->bytes[i] <= ' ' || field->bytes[i] == 0x7f)
            return false;
    return field->size > 0;
}

/*
 * ---- the formats ------------------------------------------------------------------------------
 */

/* Whether the message is a ModelProto: ir_version (1, varint), graph (7), opset_import (8). */
static bool is_onnx(const struct seen *m)
{
    return all(m->varint, BIT(1)) && all(m->bytes, BIT(7) | BIT(8));
}

/*
 * Whether the message is a Model: specificationVersion (1, varint), description (2), and one model
 * in a field with number 200 or more.
 */
static bool is_core_ml(const struct seen *m)
{
    return all(m->varint, BIT(1)) && all(m->bytes, BIT(2)) && m->large;
}

/*
 * Whether the message is a TensorProto: data_type (2, varint), name (8), and float_data (4) or
 * raw_data (9), without Caffe's shape.
 */
static bool is_onnx_tensor(const struct seen *m)
{
    bool raw = all(m->bytes, BIT(9)) && !(m->varint & (BIT(3) | BIT(4))) && !(m->bytes & BIT(7));

    return m->whole && !m->other && all(m->varint, BIT(2)) && all(m->bytes, BIT(8)) &&
           (raw || all(m->bytes, BIT(4)));
}

/*
 * Whether the message is a SavedModel: a version (1, varint) and meta graphs (2), each with
 * information (1) and a graph (2).
 */
static bool is_saved_model(const struct ferry__wire *wire, const struct seen *m)
{
    struct seen graph;

    if (!m->whole || m->other || m->varint != BIT(1) || m->bytes != BIT(2))
        return false;
    graph = inside(wire, &m->first[2]);
    return graph.whole && !graph.varint && all(graph.bytes, BIT(1) | BIT(2));
}

/*
 * Whether the message is a GraphDef: nodes (1) with a name (1) and an operation (2), a library (2),
 * versions (3, 4).
 */
static bool is_graph(const struct ferry__wire *wire, const struct seen *m)
{
    struct seen node;

    if (!m->whole || m->other || m->large || !(m->bytes & BIT(1)) || (m->varint & ~BIT(3)) ||
        (m->bytes & ~(BIT(1) | BIT(2) | BIT(4))))
        return false;
    node = inside(wire, &m->first[1]);
    return node.whole && !node.other && !node.varint && all(node.bytes, BIT(1) | BIT(2)) &&
           is_word(&node.first[1]) && is_word(&node.first[2]);
}

/*
 * Whether the message is a NetDef: a name (1) and operators (2), which have outputs (2), a type (4)
 * and usually arguments (5).
 */
static bool is_caffe2(const struct ferry__wire *wire, const struct seen *m)
{
    struct seen operator;

    if (m->other || !(m->bytes & BIT(2)) || (m->bytes & BIT(1) && !is_word(&m->first[1])))
        return false;
    operator= inside(wire, &m->first[2]);
    return operator.whole && !operator.varint && all(operator.bytes, BIT(2) | BIT(4) | BIT(5)) &&
           is_word(&operator.first[4]);
}

int ferry__foreign_by_fields(const struct ferry__io_file *file)
{
    static const struct ferry__wire_names names = { "message", { { 0, NULL } } };
    static const char save[] =
        ": save its weights as safetensors or .npz in the program that reads it";
    struct ferry__wire wire = { file, &names, file->bytes, file->bytes + file->size, true };
    struct seen m = look(wire);

    if (is_onnx(&m))
        return ferry__foreign_is(file, "an ONNX model",
                                 ": save its initializers as .npz with Python's onnx and numpy");
    if (is_core_ml(&m))
        return ferry__foreign_is(file, "a Core ML model", save);
    if (is_onnx_tensor(&m))
        return ferry__foreign_is(file, "a tensor of ONNX's",
                                 ": save it as .npy with Python's onnx");
    if (is_saved_model(&wire, &m))
        return ferry__foreign_is(file, "a TensorFlow SavedModel",
                                 ": save its variables as .npz in TensorFlow");
    if (is_graph(&wire, &m))
        return ferry__foreign_is(file, "a TensorFlow graph (GraphDef)",
                                 ": save its constants as .npz in TensorFlow");
    return is_caffe2(&wire, &m) ? ferry__foreign_is(file, "a Caffe2 net", save) : 0;
}
