/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto-text.h"

#include <math.h>

/* Queries of a tree: values, defaults, kinds, positions, and unknown fields. */

/* ---- values and defaults -------------------------------------------------------------------- */

static void omitted_fields_have_their_defaults(void)
{
    ferry_proto *net = net_of("layer { name: 'c' }");
    const ferry_proto *layer = ferry_proto_message(net, "layer", 0),
                      *conv = ferry_proto_message(layer, "convolution_param", 0),
                      *filler = ferry_proto_message(conv, "weight_filler", 0);
    int64_t size = 7;

    CU_ASSERT_STRING_EQUAL(ferry_proto_type(conv), "ConvolutionParameter");
    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "convolution_param"), 0);
    CU_ASSERT_EQUAL(ferry_proto_integer(conv, "group", 0), 1);
    CU_ASSERT_EQUAL(ferry_proto_boolean(conv, "bias_term", 0), 1);
    CU_ASSERT_EQUAL(ferry_proto_integer(conv, "pad_h", 0), 0);
    CU_ASSERT_STRING_EQUAL(ferry_proto_enum(conv, "engine", 0), "DEFAULT");
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(filler, "type", 0, NULL), "constant");
    CU_ASSERT_EQUAL(ferry_proto_integer(filler, "sparse", 0), -1);
    CU_ASSERT_DOUBLE_EQUAL(
        ferry_proto_real(ferry_proto_message(layer, "batch_norm_param", 0), "eps", 0),
        (double)1e-5f, 0);
    CU_ASSERT_STRING_EQUAL(
        ferry_proto_enum(ferry_proto_message(layer, "loss_param", 0), "normalization", 0), "VALID");
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "type", 0, NULL), "");
    CU_ASSERT_EQUAL(ferry_proto_value_count(conv, "kernel_size"), 0);
    CU_ASSERT_EQUAL(ferry_proto_integer(conv, "kernel_size", 0), 0);
    CU_ASSERT_EQUAL(ferry_proto_get_integer(conv, "kernel_size", 0, &size), FERRY_OK);
    CU_ASSERT_EQUAL(size, 7); /* a repeated field has no default */
    ferry_proto_close(net);
}

static void values_that_are_given_are_read_back(void)
{
    ferry_proto *net = net_of("layer { name: 'p' top: 'a' top: 'b' phase: TRAIN loss_weight: .5\n"
                              "pooling_param { pool: AVE kernel_size: 3 global_pooling: f }\n"
                              "convolution_param { kernel_size: [3, 5] } }");
    const ferry_proto *layer = ferry_proto_message(net, "layer", 0),
                      *pool = ferry_proto_message(layer, "pooling_param", 0),
                      *conv = ferry_proto_message(layer, "convolution_param", 0);
    const char *name = NULL;
    size_t size = 0;

    CU_ASSERT_EQUAL(ferry_proto_value_count(layer, "top"), 2);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "top", 1, &size), "b");
    CU_ASSERT_EQUAL(size, 1);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "top", 2, NULL), "");
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(layer, "top", -1, NULL), "");
    CU_ASSERT_DOUBLE_EQUAL(ferry_proto_real(layer, "loss_weight", 0), 0.5, 0);
    CU_ASSERT_STRING_EQUAL(ferry_proto_enum(layer, "phase", 0), "TRAIN");
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(pool, "pool", 0, NULL), "AVE");
    CU_ASSERT_EQUAL(ferry_proto_integer(pool, "pool", 0), 1);
    CU_ASSERT_EQUAL(ferry_proto_boolean(pool, "global_pooling", 0), 0);
    CU_ASSERT_DOUBLE_EQUAL(ferry_proto_real(pool, "kernel_size", 0), 3, 0);
    CU_ASSERT_EQUAL(ferry_proto_integer(conv, "kernel_size", 1), 5);
    CU_ASSERT_EQUAL(ferry_proto_field_count(pool), 3);
    CU_ASSERT_EQUAL(ferry_proto_field_at(pool, 1, &name), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(name, "kernel_size");
    CU_ASSERT_EQUAL(ferry_proto_field_at(pool, 3, &name), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(ferry_proto_message(layer, "no_such_param", 0));
    ferry_proto_close(net);
}

static void accessors_of_a_null_message_return_defaults(void)
{
    size_t size = 1;

    CU_ASSERT_EQUAL(ferry_proto_value_count(NULL, "name"), 0);
    CU_ASSERT_EQUAL(ferry_proto_integer(NULL, "name", 0), 0);
    CU_ASSERT_EQUAL(ferry_proto_real(NULL, "name", 0), 0);
    CU_ASSERT_EQUAL(ferry_proto_boolean(NULL, NULL, 0), 0);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(NULL, "name", 0, &size), "");
    CU_ASSERT_EQUAL(size, 0);
    CU_ASSERT_STRING_EQUAL(ferry_proto_enum(NULL, "name", 0), "");
    CU_ASSERT_STRING_EQUAL(ferry_proto_type(NULL), "");
    CU_ASSERT_PTR_NULL(ferry_proto_message(NULL, "name", 0));
    CU_ASSERT_EQUAL(ferry_proto_get_location(NULL, NULL, 0).line, 0);
    CU_ASSERT_EQUAL(ferry_proto_note_count(NULL), 0);
    CU_ASSERT_EQUAL(ferry_proto_upgrade(NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_print(NULL, NULL, 0, &size), FERRY_EINVAL);
    ferry_proto_close(NULL);
}

/* ---- places --------------------------------------------------------------------------------- */

static void every_value_has_its_line_and_column(void)
{
    ferry_proto *net = net_of("# \xc3\xa9\nlayer {\n  top: '\xc3\xa9' top: 'b'\n}");
    const ferry_proto *layer = ferry_proto_message(net, "layer", 0);
    ferry_proto_location place = ferry_proto_get_location(layer, "top", 1);

    CU_ASSERT_STRING_EQUAL(place.file, "t.prototxt");
    CU_ASSERT_EQUAL(place.line, 3);
    CU_ASSERT_EQUAL(place.column, 17);
    place = ferry_proto_get_location(layer, NULL, 0);
    CU_ASSERT_EQUAL(place.line, 2);
    CU_ASSERT_EQUAL(place.column, 7);
    place = ferry_proto_get_location(layer, "bottom", 0); /* the position of the message, where the
                                                           * field is not given */
    CU_ASSERT_EQUAL(place.line, 2);
    CU_ASSERT_EQUAL(ferry_proto_error(layer, "top", 0, FERRY_ESHAPE, "no %s", "good"),
                    FERRY_ESHAPE);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "t.prototxt:3:8: no good");
    ferry_proto_close(net);
}

/* ---- fields that are not Caffe's ------------------------------------------------------------ */

static void check_notes(const char *text, int count, const char *says)
{
    ferry_proto *p = net_of(text);
    const char *line = "";

    CU_ASSERT_PTR_NOT_NULL(p);
    CU_ASSERT_EQUAL(ferry_proto_note_count(p), count);
    if (count > 0)
        CU_ASSERT_EQUAL(ferry_proto_note_at(p, 0, NULL, &line), FERRY_OK);
    if (ferry_proto_note_count(p) != count || !strstr(line, says)) {
        CU_FAIL("other notes");
        printf("  %s\n  %s\n", text, p ? line : ferry_last_error());
    }
    CU_ASSERT_EQUAL(ferry_proto_note_at(p, count, NULL, &line), FERRY_EINVAL);
    ferry_proto_close(p);
}

static void a_misspelled_field_is_an_error_with_a_suggestion(void)
{
    static const char *const texts[][2] = {
        { "nam: 'a'", "t.prototxt:1:1: NetParameter has no field nam; did you mean name?" },
        { "layer { botom: 'a' }", "1:9: LayerParameter has no field botom; did you mean bottom?" },
        { "layer {\n convolution_params { } }", "2:2: LayerParameter has no field "
                                                "convolution_params; did you mean "
                                                "convolution_param?" },
        { "layer { convolution_param { kernal_size: 3 } }", "did you mean kernel_size?" },
        { "layer { convolution_param { krnel_sise: 3 } }", "did you mean kernel_size?" },
        { "layer { lrn_param { bta: 3 } }", "did you mean beta?" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        check_refused("NetParameter", texts[i][0], texts[i][1]);
}

static void other_unknown_fields_are_noted_once(void)
{
    check_notes("layer { my_own_param { a: 1 b { c: [2, 'd'] } } }", 1,
                "ferry: t.prototxt:1:9: LayerParameter has no field my_own_param; it is ignored");
    check_notes("layer { my_own_param { } my_own_param { } } layer { my_own_param { } }", 1,
                "1:9: LayerParameter");
    check_notes("layer { convolution_param { quantise: true } relu_param { quantise: true } }", 2,
                "ConvolutionParameter has no field quantise");
    check_notes("layer { lrn_param { x: 1 } }", 1, "LRNParameter has no field x"); /* far from k */
}

static void a_field_of_a_caffe_fork_is_noted_once(void)
{
    check_notes("layer { pooling_param { ceil_mode: false } }\n"
                "layer { pooling_param { ceil_mode: false } }",
                1, "ferry: t.prototxt:1:25: ceil_mode is a field of OpenCV");
    check_notes("layer { permute_param { order: [0, 2, 3, 1] } }", 1,
                "permute_param is a field of SSD");
    check_notes("layer { pooling_param { round_mode: FLOOR } swish_param { } }", 0, "");
}

static void the_number_of_notes_is_limited(void)
{
    char *text = malloc(200 * 16 + 1), *at = text;
    ferry_proto *net;
    const char *line = "";

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < 200; i++)
        at += sprintf(at, "stranger%03d: 1\n", i);
    net = net_of(text);
    CU_ASSERT_EQUAL(ferry_proto_note_count(net), 101);
    CU_ASSERT_EQUAL(ferry_proto_note_at(net, 100, NULL, &line), FERRY_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "further notes"));
    CU_ASSERT_EQUAL(ferry_proto_integer(net, "stranger199", 0), 1);
    ferry_proto_close(net);
    free(text);
}

static void the_number_of_unknown_fields_is_limited(void)
{
    char *text = malloc(1001 * 16 + 1), *at = text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < 1001; i++)
        at += sprintf(at, "stranger%04d:1\n", i);
    check_refused("NetParameter", text, "1001:1: more than 1000 unknown fields");
    free(text);
}

/* ---- claims --------------------------------------------------------------------------------- */

static int asked;

static int claim(void *arg, const char *name)
{
    asked++;
    return strcmp(name, arg) == 0;
}

static ferry_proto *claimed(const char *text, const char *name)
{
    char copy[64];
    ferry_proto_options options = { .struct_size = sizeof(options), .claims = claim, .arg = copy };
    ferry_proto *p = NULL;

    snprintf(copy, sizeof(copy), "%s", name);
    options.text = text;
    options.text_size = strlen(text);
    (void)ferry_proto_open("t.prototxt", "NetParameter", &options, &p);
    return p;
}

static void fields_that_a_layer_declares_are_kept_unchanged(void)
{
    static const char text[] = "layer { type: 'Acme' acme_param {\n scale: 2 factor: 1.5 on: true "
                               "mode: FAST name: 'n' at { x: [1, 2] } big: inf\n } }\n"
                               "layer { type: 'Acme' acme_params { } }";
    ferry_proto *net = claimed(text, "acme_param");
    const ferry_proto *acme =
        ferry_proto_message(ferry_proto_message(net, "layer", 0), "acme_param", 0);
    const char *text_value = "default";
    int64_t integer = 7;
    double real = 7;
    int on = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(acme);
    CU_ASSERT_EQUAL(asked, 2);
    CU_ASSERT_EQUAL(ferry_proto_note_count(net), 1); /* acme_params, which no layer type declares */
    CU_ASSERT_STRING_EQUAL(ferry_proto_type(acme), "");
    CU_ASSERT_EQUAL(ferry_proto_get_integer(acme, "scale", 0, &integer), FERRY_OK);
    CU_ASSERT_EQUAL(integer, 2);
    CU_ASSERT_EQUAL(ferry_proto_get_integer(acme, "not_given", 0, &integer), FERRY_OK);
    CU_ASSERT_EQUAL(integer, 2);
    CU_ASSERT_EQUAL(ferry_proto_get_real(acme, "factor", 0, &real), FERRY_OK);
    CU_ASSERT_DOUBLE_EQUAL(real, 1.5, 0);
    CU_ASSERT_EQUAL(ferry_proto_get_real(acme, "scale", 0, &real), FERRY_OK);
    CU_ASSERT_DOUBLE_EQUAL(real, 2, 0);
    CU_ASSERT_EQUAL(ferry_proto_get_real(acme, "big", 0, &real), FERRY_OK);
    CU_ASSERT(isinf(real));
    CU_ASSERT_EQUAL(ferry_proto_get_boolean(acme, "on", 0, &on), FERRY_OK);
    CU_ASSERT_EQUAL(on, 1);
    CU_ASSERT_EQUAL(ferry_proto_get_string(acme, "not_given", 0, &text_value), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(text_value, "default");
    CU_ASSERT_EQUAL(ferry_proto_get_string(acme, "mode", 0, &text_value), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(text_value, "FAST");
    CU_ASSERT_EQUAL(ferry_proto_get_string(acme, "name", 0, &text_value), FERRY_OK);
    CU_ASSERT_STRING_EQUAL(text_value, "n");
    CU_ASSERT_EQUAL(ferry_proto_integer(ferry_proto_message(acme, "at", 0), "x", 1), 2);
    ferry_proto_close(net);
}

static void a_value_of_another_kind_is_an_error_with_its_place(void)
{
    ferry_proto *net =
        claimed("layer { acme_param {\n on: 'yes' n: 1.5 m: 3 s: 4 } }", "acme_param");
    const ferry_proto *acme =
        ferry_proto_message(ferry_proto_message(net, "layer", 0), "acme_param", 0);
    const char *text = "same";
    int64_t integer = 7;
    double real = 7;
    int on = 7;

    CU_ASSERT_EQUAL(ferry_proto_get_boolean(acme, "on", 0, &on), FERRY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "t.prototxt:2:6: on is not true or false");
    CU_ASSERT_EQUAL(ferry_proto_get_boolean(acme, "m", 0, &on), FERRY_EFORMAT);
    CU_ASSERT_EQUAL(on, 7);
    CU_ASSERT_EQUAL(ferry_proto_get_integer(acme, "n", 0, &integer), FERRY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "t.prototxt:2:15: n is not an integer");
    CU_ASSERT_EQUAL(integer, 7);
    CU_ASSERT_EQUAL(ferry_proto_get_real(acme, "on", 0, &real), FERRY_EFORMAT);
    CU_ASSERT_DOUBLE_EQUAL(real, 7, 0);
    CU_ASSERT_EQUAL(ferry_proto_get_string(acme, "s", 0, &text), FERRY_EFORMAT);
    CU_ASSERT_STRING_EQUAL(text, "same");
    ferry_proto_close(net);
}

/* A message of NULL has no fields; a getter without a field or a place for the value is refused. */
static void null_is_a_message_without_fields(void)
{
    ferry_proto *net = claimed("layer { name: 'l' }", "acme_param");
    const char *text = "same";
    int64_t integer = 7;
    double real = 7;
    int on = 7;

    CU_ASSERT_EQUAL(ferry_proto_get_integer(NULL, "num", 0, &integer), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_proto_get_real(NULL, "num", 0, &real), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_proto_get_boolean(NULL, "num", 0, &on), FERRY_OK);
    CU_ASSERT_EQUAL(ferry_proto_get_string(NULL, "num", 0, &text), FERRY_OK);
    CU_ASSERT(integer == 7 && real == 7 && on == 7 && !strcmp(text, "same"));
    CU_ASSERT_EQUAL(ferry_proto_integer(NULL, "num", 0), 0);
    CU_ASSERT_STRING_EQUAL(ferry_proto_string(NULL, "num", 0, NULL), "");
    CU_ASSERT_EQUAL(ferry_proto_value_count(NULL, "num"), 0);

    CU_ASSERT_EQUAL(ferry_proto_get_integer(net, "num", 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_get_real(net, "num", 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_get_boolean(net, "num", 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_get_string(net, "num", 0, NULL), FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_proto_get_string: out is NULL");
    CU_ASSERT_EQUAL(ferry_proto_get_integer(net, NULL, 0, &integer), FERRY_EINVAL);
    CU_ASSERT_STRING_EQUAL(ferry_last_error(), "ferry_proto_get_integer: field is NULL");
    CU_ASSERT_EQUAL(ferry_proto_print(NULL, NULL, 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_serialize(NULL, NULL, 0, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_upgrade(NULL), FERRY_EINVAL);
    ferry_proto_close(net);
}

static void declared_fields_are_not_noted_and_misspelled_ones_are_errors(void)
{
    ferry_proto *net = claimed("layer { permute_param { order: 1 turn: 2 } }", "permute_param");

    CU_ASSERT_PTR_NOT_NULL(net);
    CU_ASSERT_EQUAL(ferry_proto_note_count(net), 0);
    ferry_proto_close(net);
    net = claimed("layer { permute_param { ordr: 1 } }", "permute_param");
    CU_ASSERT_PTR_NULL(net);
    net = claimed("layer { convolution_param { kernal_size: 1 } }", "convolution_param");
    CU_ASSERT_PTR_NULL(net);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void files_that_cannot_be_opened_are_reported(void)
{
    ferry_proto_options options = { .text = "" };
    ferry_proto *p = NULL;

    CU_ASSERT_EQUAL(ferry_proto_open("/nonexistent/net", "NetParameter", NULL, &p), FERRY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "/nonexistent/net: No such file"));
    CU_ASSERT_EQUAL(ferry_proto_open("/", "NetParameter", NULL, &p), FERRY_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(ferry_last_error(), "is a directory"));
    CU_ASSERT_EQUAL(ferry_proto_open("/dev/null", "NetParameter", NULL, &p), FERRY_EIO);
    CU_ASSERT_EQUAL(ferry_proto_open("a", "NetParam", NULL, &p), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_open("a", NULL, NULL, &p), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_open(NULL, "NetParameter", NULL, &p), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_open("a", "NetParameter", NULL, NULL), FERRY_EINVAL);
    CU_ASSERT_EQUAL(ferry_proto_open("a", "NetParameter", &options, &p), FERRY_EINVAL);
    CU_ASSERT_PTR_NULL(p);
}

static void a_buffer_that_is_too_small_is_reported(void)
{
    ferry_proto *net = net_of("name: 'abc'");
    char text[13];
    size_t size = 0;

    CU_ASSERT_EQUAL(ferry_proto_print(net, text, 12, &size), FERRY_EOVERFLOW);
    CU_ASSERT_EQUAL(size, 0);
    CU_ASSERT_EQUAL(ferry_proto_print(net, text, 13, &size), FERRY_OK);
    CU_ASSERT_EQUAL(size, 12);
    CU_ASSERT_STRING_EQUAL(text, "name: \"abc\"\n");
    CU_ASSERT_EQUAL(ferry_proto_serialize(net, text, 4, &size), FERRY_EOVERFLOW);
    CU_ASSERT_EQUAL(ferry_proto_serialize(net, text, 5, &size), FERRY_OK);
    CU_ASSERT_EQUAL(size, 5);
    CU_ASSERT_EQUAL(memcmp(text,
                           "\x0a\x03"
                           "abc",
                           5),
                    0);
    ferry_proto_close(net);
}

static const ferry_test_case cases[] = {
    FERRY_TEST(omitted_fields_have_their_defaults),
    FERRY_TEST(values_that_are_given_are_read_back),
    FERRY_TEST(accessors_of_a_null_message_return_defaults),
    FERRY_TEST(every_value_has_its_line_and_column),
    FERRY_TEST(a_misspelled_field_is_an_error_with_a_suggestion),
    FERRY_TEST(other_unknown_fields_are_noted_once),
    FERRY_TEST(a_field_of_a_caffe_fork_is_noted_once),
    FERRY_TEST(the_number_of_notes_is_limited),
    FERRY_TEST(the_number_of_unknown_fields_is_limited),
    FERRY_TEST(fields_that_a_layer_declares_are_kept_unchanged),
    FERRY_TEST(a_value_of_another_kind_is_an_error_with_its_place),
    FERRY_TEST(null_is_a_message_without_fields),
    FERRY_TEST(declared_fields_are_not_noted_and_misspelled_ones_are_errors),
    FERRY_TEST(files_that_cannot_be_opened_are_reported),
    FERRY_TEST(a_buffer_that_is_too_small_is_reported),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-tree", cases, FERRY_TEST_COUNT(cases));
}
