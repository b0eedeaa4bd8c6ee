/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "proto-text.h"

#include "io-build.h"
#include "net/proto/tree.h"
#include "net/proto/wire.h"

#include <unistd.h>

/*
 * protobuf's binary form: valid messages, malformed ones, and the data that are not copied from
 * their file.
 */

static ferry_proto *wire_of(const char *type, const void *bytes, size_t size)
{
    ferry_proto_options options = { .struct_size = sizeof(options),
                                    .text = bytes,
                                    .text_size = size };
    ferry_proto *p = NULL;

    (void)ferry_proto_open("t.caffemodel", type, &options, &p);
    return p;
}

static void check_wire(const struct msg *m, const char *want)
{
    ferry_proto *p = wire_of("NetParameter", m->at, m->size);

    CU_ASSERT_PTR_NOT_NULL(p);
    if (p)
        check_printed(p, want);
    else
        printf("  %s\n", ferry_last_error());
    ferry_proto_close(p);
}

static void check_malformed(const struct msg *m, const char *says)
{
    ferry_proto *p = wire_of("NetParameter", m->at, m->size);

    CU_ASSERT_PTR_NULL(p);
    if (p || ferry_last_error_code() != FERRY_EFORMAT || !strstr(ferry_last_error(), says)) {
        CU_FAIL("taken, or another message");
        printf("  wanted \"%s\", got \"%s\"\n", says, ferry_last_error());
    }
    ferry_proto_close(p);
}

/* The fields of a LayerParameter around `layer`, and of a net around that. */
static struct msg net_around(const struct msg *layer)
{
    struct msg net = { .size = 0 };

    put_string(&net, 1, "n");
    put_bytes(&net, 100, layer->at, layer->size);
    return net;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void every_kind_of_value_is_read(void)
{
    struct msg net = { .size = 0 }, layer = { .size = 0 }, conv = { .size = 0 },
               dropout = { .size = 0 };
    float half = 0.5f;

    put_little(&half, &half, 4, 4);
    put_string(&layer, 1, "c");
    put_varint(&layer, 10, 1);
    put_number(&layer, 5 << 3 | 5);
    put_raw(&layer, &half, 4);
    put_varint(&conv, 1, 300);
    put_varint(&conv, 2, 0);
    put_bytes(&conv, 4, "\x03\x05", 2); /* packed, though it is not declared so */
    put_varint(&conv, 4, 7);
    put_bytes(&layer, 106, conv.at, conv.size);
    put_number(&dropout, 1 << 3 | 5);
    put_raw(&dropout, &half, 4);
    put_bytes(&layer, 108, dropout.at, dropout.size);
    net = net_around(&layer);
    put_varint(&net, 4, (uint64_t)-5);
    put_varint(&net, 5, 1);
    check_wire(&net,
               "name: \"n\"\ninput_dim: -5\nforce_backward: true\nlayer {\n  name: \"c\"\n"
               "  loss_weight: 0.5\n  phase: TEST\n  convolution_param {\n    num_output: 300\n"
               "    bias_term: false\n    kernel_size: 3\n    kernel_size: 5\n"
               "    kernel_size: 7\n  }\n  dropout_param {\n    dropout_ratio: 0.5\n  }\n}\n");
}

static void the_last_of_several_values_is_used_and_messages_are_merged(void)
{
    struct msg net = { .size = 0 }, state = { .size = 0 }, other = { .size = 0 };

    put_varint(&state, 2, 3);
    put_varint(&other, 1, 0);
    put_string(&net, 1, "first");
    put_bytes(&net, 6, state.at, state.size);
    put_string(&net, 1, "last");
    put_bytes(&net, 6, other.at, other.size);
    check_wire(&net, "name: \"last\"\nstate {\n  phase: TRAIN\n  level: 3\n}\n");
}

static void a_field_number_shared_by_forks_is_resolved_by_layer_type(void)
{
    static const struct {
        unsigned number;
        const char *type, *field;
    } fields[] = {
        { 147, "Swish", "swish_param" },
        { 147, "DetectionOutput", "detection_output_param" },
        { 204, "DetectionOutput", "detection_output_param" },
        { 148, "Permute", "permute_param" },
        { 202, "Permute", "permute_param" },
        { 203, "PriorBox", "prior_box_param" },
        { 150, "PriorBox", "prior_box_param" },
        { 206, "Normalize", "norm_param" },
        { 149, "Normalize", "norm_param" },
        { 201, "Proposal", "proposal_param" },
        { 8266711, "ROIPooling", "roi_pooling_param" },
        { 158, "Convolution", "quantization_param" },
        { 158, "InnerProduct", "quantization_param" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(fields); i++) {
        struct msg layer = { .size = 0 }, net;
        ferry_proto *p;

        put_bytes(&layer, fields[i].number, "", 0); /* before the type, which selects the parser */
        put_string(&layer, 2, fields[i].type);
        net = net_around(&layer);
        p = wire_of("NetParameter", net.at, net.size);
        CU_ASSERT_EQUAL(
            ferry_proto_value_count(ferry_proto_message(p, "layer", 0), fields[i].field), 1);
        ferry_proto_close(p);
    }
}

/* Number 158 is Intel Caffe's quantization_param in products only. */
static void a_number_of_another_fork_is_not_quantization(void)
{
    struct msg layer = { .size = 0 }, net;
    const char *line = "";
    ferry_proto *p;

    put_varint(&layer, 158, 5); /* Intel's field is a message */
    put_string(&layer, 2, "WingLoss");
    net = net_around(&layer);
    p = wire_of("NetParameter", net.at, net.size);
    CU_ASSERT_EQUAL(ferry_proto_note_at(p, 0, NULL, &line), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(line,
                           "ferry: t.caffemodel: LayerParameter has no field 158; it is ignored");
    ferry_proto_close(p);
}

static void unknown_fields_are_noted_once(void)
{
    struct msg net = { .size = 0 }, state = { .size = 0 };
    ferry_proto *p;
    const char *line = "";

    put_string(&net, 1, "n");
    put_varint(&net, 99, 1);
    put_varint(&net, 99, 2);
    put_number(&net, 98 << 3 | 3); /* a group that contains another */
    put_number(&net, 98 << 3 | 3);
    put_number(&net, 98 << 3 | 4);
    put_number(&net, 98 << 3 | 4);
    put_varint(&state, 1, 7);
    put_bytes(&net, 6, state.at, state.size);
    p = wire_of("NetParameter", net.at, net.size);
    CU_ASSERT_EQUAL(ferry_proto_note_count(p), 3);
    CU_ASSERT_EQUAL(ferry_proto_note_at(p, 0, NULL, &line), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(line,
                           "ferry: t.caffemodel: NetParameter has no field 99; it is ignored");
    CU_ASSERT_EQUAL(ferry_proto_note_at(p, 2, NULL, &line), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(line, "ferry: t.caffemodel: NetState.phase has an unknown value 7; it "
                                 "is ignored");
    ferry_proto_close(p);
}

static void the_number_of_notes_is_limited(void)
{
    struct msg net = { .size = 0 };
    ferry_proto *p;

    put_string(&net, 1, "n");
    for (unsigned i = 0; i < 200; i++)
        put_varint(&net, 1000 + i, 1);
    p = wire_of("NetParameter", net.at, net.size);
    CU_ASSERT_EQUAL(ferry_proto_note_count(p), 101);
    ferry_proto_close(p);
}

static void malformed_data_are_named(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } wrongs[] = {
        { BYTES("\x0a\x01n\x32\x02\x0d\x01"), "NetState.phase (field 1) at byte 5: the value" },
        { BYTES("\x0a\x01n\x32\x02\x08\x80"), "NetState.phase (field 1) at byte 5: a varint runs" },
        { BYTES("\x0a\x01n\x32\x05\x08\x01"), "NetParameter.state (field 6) at byte 3: the value" },
        { BYTES("\x0a\x01n\x30\x01"), "NetParameter.state (field 6) at byte 3: its wire type" },
        { BYTES("\x0a\x01n\x2a\x01\x01"), "force_backward (field 5) at byte 3: its wire type" },
        { BYTES("\x0a\x01n\x00"), "NetParameter.? (field 0) at byte 3: the field" },
        { BYTES("\x0a\x01n\x0b"), "NetParameter.name (field 1) at byte 3: the group" },
        { BYTES("\x0a\x01n\x0c"), "NetParameter.name (field 1) at byte 3: it closes" },
        { BYTES("\x0a\x01n\x0e"), "NetParameter.name (field 1) at byte 3: there is" },
        { BYTES("\x0a\x01n\x22\x01\x80"), "input_dim (field 4) at byte 3: a packed value" },
        { BYTES("\x0a\x01n\x0a\x02x\0"),
          "NetParameter.name (field 1) at byte 3: the string contains a" },
        { BYTES("\x0a\x01n\x1a\x01\0"),
          "NetParameter.input (field 3) at byte 3: the string contains a" },
        { BYTES("\x0a\x01n\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"), "(field 0) at byte 3" },
        { BYTES("\x0a\x01n\xa2\x06\x08\x2a\x06\0\0\0\0\0\0"),
          "LayerParameter.loss_weight (field 5) at byte 6: the packed values end inside" },
        { BYTES("\x0a\x01n\xa2\x06\x08\xa2\x09\x05\x0d\0\0\0\0"),
          "t.caffemodel: ClipParameter lacks the required field max" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(wrongs); i++) {
        struct msg m = { .size = 0 };

        put_raw(&m, wrongs[i].bytes, wrongs[i].size);
        check_malformed(&m, wrongs[i].says);
    }
}

/* Also if neither the length of the name nor the piece is a control character. */
static void a_piece_of_a_net_is_not_called_a_text(void)
{
    static const char name[61] = "a_net_with_a_name_that_has_up_to_sixty_characters_and_no_mo";

    for (size_t length = 1; length < sizeof name - 1; length++) {
        struct msg net = { .size = 0 }, piece;

        put_bytes(&net, 1, name, length);
        put_bytes(&net, 100, "\x0a\1d", 3);
        piece = net;
        for (piece.size = 3; piece.size < 2 + length; piece.size++)
            check_malformed(&piece,
                            "t.caffemodel: NetParameter.name (field 1) at byte 0: the value "
                            "runs past the end");
        piece.size = 3 + length;
        check_malformed(&piece, "a varint runs past the end");
    }
}

static void a_short_text_is_not_called_binary(void)
{
    static const char *const texts[] = { "\n# a net\n", " # a net\n",   "\n#\n\n",
                                         "\n\n",        "\n\t\n",       "\n # a net",
                                         "\nname: 'x'", "\nlayer {\n}", "\nlayer<>" };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++) {
        ferry_proto *p = wire_of("NetParameter", texts[i], strlen(texts[i]));

        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT_EQUAL(ferry_proto_get_form(p), FERRY_PROTO_TEXT);
        ferry_proto_close(p);
    }
}

static void a_truncated_message_is_an_error_or_a_shorter_message(void)
{
    ferry_proto *net =
        net_of("name: 'n' layer { name: 'c' type: 'Convolution' bottom: 'data' "
               "convolution_param { num_output: 3 kernel_size: [3, 5] } loss_weight: "
               "1 input_param { shape { dim: [1, 2, 300] } } }");
    unsigned char bytes[256];
    size_t size = 0;

    CU_ASSERT_EQUAL_FATAL(ferry_proto_serialize(net, bytes, sizeof(bytes), &size), FERRY_OK);
    for (size_t n = 4; n < size; n++) {
        unsigned char *piece = malloc(n); /* of its own, so that a sanitizer detects each overrun */
        ferry_proto *p;

        CU_ASSERT_PTR_NOT_NULL_FATAL(piece);
        memcpy(piece, bytes, n);
        p = wire_of("NetParameter", piece, n);
        CU_ASSERT(p ? ferry_proto_value_count(p, "layer") == 0
                    : ferry_last_error_code() == FERRY_EFORMAT);
        ferry_proto_close(p);
        free(piece);
    }
    ferry_proto_close(net);
}

/* ---- blobs ---------------------------------------------------------------------------------- */

static void blobs_are_not_read_from_the_file(void)
{
    struct msg layer = { .size = 0 }, net;
    ferry_proto *p;
    const ferry_proto *blob;
    size_t size;

    put_string(&layer, 1, "c");
    put_blob(&layer, 7, 5, 1);
    put_blob(&layer, 7, 2, 9);
    net = net_around(&layer);
    p = wire_of("NetParameter", net.at, net.size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ferry_proto_value_count(ferry_proto_message(p, "layer", 0), "blobs"), 2);
    blob = ferry_proto_message(ferry_proto_message(p, "layer", 0), "blobs", 1);
    CU_ASSERT(blob->left);
    CU_ASSERT_EQUAL(blob->left_size, 2 + 2 * 4 + 2 + 2);
    CU_ASSERT_EQUAL(blob->left_at + blob->left_size, net.size);
    check_printed(p, "name: \"n\"\nlayer {\n  name: \"c\"\n}\n");
    CU_ASSERT_EQUAL(ferry_proto_serialize(p, NULL, 0, &size), FERRY_EUNSUPPORTED);
    ferry_proto_close(p);
}

struct collected {
    const unsigned char *file;
    struct msg out;
    int skipped;
};

static int collect(void *arg, const void *bytes, size_t size)
{
    struct collected *c = arg;

    put_raw(&c->out, bytes, size);
    return FERRY_OK;
}

static int collect_left(void *arg, const ferry_proto *p)
{
    struct collected *c = arg;

    return collect(arg, c->file + p->left_at, (size_t)p->left_size);
}

static void count_skipped(void *arg, const ferry_proto *p, const char *field)
{
    struct collected *c = arg;

    (void)p;
    CU_ASSERT(strcmp(field, "upsample_param") == 0 || strcmp(field, "acme_param") == 0);
    c->skipped++;
}

static void dropped_data_are_added_again(void)
{
    struct msg layer = { .size = 0 }, net;
    struct collected c = { .skipped = 0 };
    struct ferry__proto_sink sink = { collect, collect_left, count_skipped, &c };
    ferry_proto *p;

    put_string(&layer, 1, "c");
    put_blob(&layer, 7, 5, 1);
    put_blob(&layer, 7, 2, 9);
    net = net_around(&layer);
    p = wire_of("NetParameter", net.at, net.size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    c.file = net.at;
    CU_ASSERT_EQUAL(ferry__proto_to_wire(p, &sink), FERRY_OK);
    CU_ASSERT_EQUAL(c.out.size, net.size);
    CU_ASSERT_EQUAL(memcmp(c.out.at, net.at, net.size), 0);
    CU_ASSERT_EQUAL(ferry__proto_wire_size(p), net.size);
    CU_ASSERT_EQUAL(c.skipped, 0);
    ferry_proto_close(p);
}

/* ---- writing -------------------------------------------------------------------------------- */

struct piece {
    char bytes[256];
    size_t size;
};

static int append(void *arg, const void *bytes, size_t size)
{
    struct piece *to = arg;

    CU_ASSERT_FATAL(to->size + size <= sizeof(to->bytes));
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return FERRY_OK;
}

static int refuse_all(void *arg, const void *bytes, size_t size)
{
    (void)arg;
    (void)bytes;
    (void)size;
    return FERRY_EOVERFLOW;
}

/*
 * layer { name: "a" blobs { data: 1 } }; the values of blobs stay in the file, if there is a file.
 */
static const char with_blob[] = "\xa2\x06\x0b\x0a\x01\x61\x3a\x06\x2a\x04\0\0\x80\x3f";

static void put_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(with_blob, 1, size, file), size);
    fclose(file);
}

static void blobs_are_copied_from_the_file(void)
{
    char path[] = "/tmp/ferry-test-wire-XXXXXX";
    struct piece got = { .size = 0 };
    ferry_proto *p = NULL;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    put_file(path, sizeof(with_blob) - 1);
    CU_ASSERT_EQUAL_FATAL(ferry_proto_open(path, "NetParameter", NULL, &p), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_proto_get_form(p), FERRY_PROTO_BINARY);
    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_BINARY, append, &got), FERRY_OK);
    CU_ASSERT_EQUAL(got.size, sizeof(with_blob) - 1);
    CU_ASSERT(memcmp(got.bytes, with_blob, sizeof(with_blob) - 1) == 0);
    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_BINARY, refuse_all, NULL), FERRY_EOVERFLOW);
    CU_ASSERT_EQUAL(ferry_proto_write(p, (ferry_proto_form)2, append, &got), FERRY_EINVAL);
    put_file(path, 4);
    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_BINARY, append, &got), FERRY_EIO);
    unlink(path);
    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_BINARY, append, &got), FERRY_EIO);
    ferry_proto_close(p);
}

static void blobs_without_a_file_are_an_error(void)
{
    ferry_proto *p = proto_of("NetParameter", with_blob, sizeof(with_blob) - 1);
    struct piece got = { .size = 0 };

    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_BINARY, append, &got), FERRY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(ferry_proto_write(p, FERRY_PROTO_TEXT, refuse_all, NULL), FERRY_EOVERFLOW);
    ferry_proto_close(p);
}

static void unrepresentable_values_are_omitted_and_named(void)
{
    struct collected c = { .skipped = 0 };
    struct ferry__proto_sink sink = { collect, collect_left, count_skipped, &c };
    ferry_proto *p = net_of("layer { upsample_param { scale: 2 } acme_param: 3 }");

    CU_ASSERT_EQUAL(ferry__proto_to_wire(p, &sink), FERRY_OK);
    CU_ASSERT_EQUAL(c.skipped, 2);
    CU_ASSERT_EQUAL(c.out.size, 3);
    CU_ASSERT_EQUAL(memcmp(c.out.at, "\xa2\x06\0", 3), 0);
    CU_ASSERT_EQUAL(ferry_proto_has_number(ferry_proto_message(p, "layer", 0), "upsample_param"),
                    0);
    CU_ASSERT_EQUAL(ferry_proto_has_number(ferry_proto_message(p, "layer", 0), "acme_param"), 0);
    CU_ASSERT_EQUAL(ferry_proto_has_number(ferry_proto_message(p, "layer", 0), "pooling_param"), 1);
    ferry_proto_close(p);
}

static int refuse(void *arg, const void *bytes, size_t size)
{
    int *left = arg;

    (void)bytes;
    (void)size;
    return (*left)-- > 0 ? FERRY_OK : FERRY_EIO;
}

static void a_failing_sink_ends_the_writing(void)
{
    ferry_proto *p = net_of("name: 'n' input_dim: 1 layer { name: 'a' input_param { shape { dim: "
                            "[1, 2] } } loss_weight: 1 }");
    int writes = 0, left, err;

    do {
        struct ferry__proto_sink sink = { refuse, NULL, NULL, &left };

        left = writes++;
        err = ferry__proto_to_wire(p, &sink);
        CU_ASSERT(err == FERRY_OK || (err == FERRY_EIO && left == -1));
    } while (err);
    CU_ASSERT(writes > 10);
    ferry_proto_close(p);
}

static void a_text_round_trips_through_its_binary_form(void)
{
    static const char text[] =
        "name: 'n' force_backward: true state { phase: TRAIN level: -1 stage: ['a', 'b'] }\n"
        "layer { name: '\\303\\251' type: 'Permute' permute_param { order: [0, 2] } phase: TEST\n"
        "include { not_stage: 'x' } param { lr_mult: 0.1 } propagate_down: [true, false]\n"
        "blobs { shape { dim: [1, -2, 9223372036854775807] } data: [1, -2.5, inf] num: 3 } }\n"
        "layer { type: 'PSROIPooling' psroi_pooling_param { spatial_scale: .0625 output_dim: 21\n"
        "group_size: 7 } } layers { type: TANH layer { k: 2 new_num: -3 } }";
    ferry_proto *p = net_of(text), *again;
    unsigned char bytes[512];
    char *want = printed(p);
    size_t size = 0;

    CU_ASSERT_EQUAL(ferry_proto_serialize(p, bytes, sizeof(bytes), &size), FERRY_OK);
    again = wire_of("NetParameter", bytes, size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(again);
    CU_ASSERT(ferry__proto_mutable(ferry__proto_mutable(again, "layer", 0), "blobs", 0)->left);
    ferry__proto_clear(ferry__proto_mutable(p, "layer", 0), "blobs");
    free(want);
    want = printed(p);
    check_printed(again, want);
    free(want);
    ferry_proto_close(again);
    ferry_proto_close(p);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(every_kind_of_value_is_read),
    FERRY_TEST(the_last_of_several_values_is_used_and_messages_are_merged),
    FERRY_TEST(a_field_number_shared_by_forks_is_resolved_by_layer_type),
    FERRY_TEST(a_number_of_another_fork_is_not_quantization),
    FERRY_TEST(unknown_fields_are_noted_once),
    FERRY_TEST(the_number_of_notes_is_limited),
    FERRY_TEST(malformed_data_are_named),
    FERRY_TEST(a_piece_of_a_net_is_not_called_a_text),
    FERRY_TEST(a_short_text_is_not_called_binary),
    FERRY_TEST(a_truncated_message_is_an_error_or_a_shorter_message),
    FERRY_TEST(blobs_are_not_read_from_the_file),
    FERRY_TEST(dropped_data_are_added_again),
    FERRY_TEST(blobs_are_copied_from_the_file),
    FERRY_TEST(blobs_without_a_file_are_an_error),
    FERRY_TEST(unrepresentable_values_are_omitted_and_named),
    FERRY_TEST(a_failing_sink_ends_the_writing),
    FERRY_TEST(a_text_round_trips_through_its_binary_form),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-wire", cases, FERRY_TEST_COUNT(cases));
}
