/* SPDX-License-Identifier: BSD-2-Clause */
#include "proto-text.h"

#include <locale.h>

/*
 * protobuf's text format, read and printed: everything that it allows and everything that it
 * rejects.
 */

static void values_of_every_kind_are_read(void)
{
    static const struct {
        const char *type, *text, *want;
    } texts[] = {
        { "FillerParameter", "sparse: -12", "sparse: -12\n" },
        { "FillerParameter", "sparse: 0x1F", "sparse: 31\n" },
        { "FillerParameter", "sparse: 017", "sparse: 15\n" },
        { "FillerParameter", "sparse: -2147483648", "sparse: -2147483648\n" },
        { "FillerParameter", "sparse: - # between\n 3", "sparse: -3\n" },
        { "BlobShape", "dim: 9223372036854775807", "dim: 9223372036854775807\n" },
        { "BlobShape", "dim: -9223372036854775808", "dim: -9223372036854775808\n" },
        { "CropParameter", "offset: 4294967295", "offset: 4294967295\n" },
        { "FillerParameter", "value: 1", "value: 1\n" },
        { "FillerParameter", "value: .5", "value: 0.5\n" },
        { "FillerParameter", "value: 1.", "value: 1\n" },
        { "FillerParameter", "value: 1.5f", "value: 1.5\n" },
        { "FillerParameter", "value: 3F", "value: 3\n" },
        { "FillerParameter", "value: -1e-3", "value: -0.001\n" },
        { "FillerParameter", "value: 1E+2", "value: 100\n" },
        { "FillerParameter", "value: 0.1", "value: 0.1\n" },
        { "FillerParameter", "value: 16777217", "value: 16777216\n" },
        { "FillerParameter", "value: 3.14159265", "value: 3.14159274\n" },
        { "FillerParameter", "value: 1e39", "value: inf\n" },
        { "FillerParameter", "value: inf", "value: inf\n" },
        { "FillerParameter", "value: -Infinity", "value: -inf\n" },
        { "FillerParameter", "value: NaN", "value: nan\n" },
        { "BlobProto", "double_data: 0.1", "double_data: 0.1\n" },
        { "BlobProto", "double_data: 1e300", "double_data: 1e+300\n" },
        { "NetParameter", "debug_info: true", "debug_info: true\n" },
        { "NetParameter", "debug_info: True", "debug_info: true\n" },
        { "NetParameter", "debug_info: t", "debug_info: true\n" },
        { "NetParameter", "debug_info: 1", "debug_info: true\n" },
        { "NetParameter", "debug_info: false", "debug_info: false\n" },
        { "NetParameter", "debug_info: False", "debug_info: false\n" },
        { "NetParameter", "debug_info: f", "debug_info: false\n" },
        { "NetParameter", "debug_info: 0x0", "debug_info: false\n" },
        { "NetState", "phase: TRAIN", "phase: TRAIN\n" },
        { "NetState", "phase: 1", "phase: TEST\n" },
        { "HingeLossParameter", "norm: L2", "norm: L2\n" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        check_text(texts[i].type, texts[i].text, texts[i].want);
}

static void strings_are_unescaped_and_joined(void)
{
    static const char *const texts[][2] = {
        { "name: 'single'", "name: \"single\"\n" },
        { "name: \"it's\"", "name: \"it\\'s\"\n" },
        { "name: 'say \"a\"'", "name: \"say \\\"a\\\"\"\n" },
        { "name: \"a\" 'b'\n\"c\"", "name: \"abc\"\n" },
        { "name: \"\"", "name: \"\"\n" },
        { "name: '\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"'",
          "name: \"\\007\\010\\014\\n\\r\\t\\013\\\\?\\'\\\"\"\n" },
        { "name: \"\\101\\1012\\x41\\X4a\\x4g\"", "name: \"AA2AJ\\004g\"\n" },
        { "name: \"\\u00e9\"", "name: \"\\303\\251\"\n" },
        { "name: \"\\u20ac\\U0001f600\"", "name: \"\\342\\202\\254\\360\\237\\230\\200\"\n" },
        { "name: \"\\ud83d\\ude00\"", "name: \"\\360\\237\\230\\200\"\n" },
        { "name: \"\xc3\xa9\"", "name: \"\\303\\251\"\n" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        check_text("NetParameter", texts[i][0], texts[i][1]);
}

static void bytes_keep_their_nul(void)
{
    static const char text[] = "data: 'a\\000b'";
    ferry_proto *p = proto_of("Datum", text, strlen(text));
    size_t size = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(memcmp(ferry_proto_string(p, "data", 0, &size), "a\0b", 4), 0);
    CU_ASSERT_EQUAL(size, 3);
    ferry_proto_close(p);
    check_refused("NetParameter", "name: 'a\\000b'",
                  "t.prototxt:1:7: the string contains a NUL byte");
}

static void messages_are_parsed_in_every_syntax(void)
{
    static const char want[] = "layer {\n  name: \"a\"\n  input_param {\n    shape {\n"
                               "      dim: 1\n      dim: 3\n    }\n  }\n}\n";
    static const char *const texts[] = {
        "layer { name: 'a' input_param { shape { dim: 1 dim: 3 } } }",
        "layer: { name: 'a', input_param: { shape: { dim: 1; dim: 3; }; }; };",
        "layer < name: 'a' input_param < shape < dim: 1 dim: 3 > > >",
        "layer: < name: 'a' input_param { shape: < dim: [1, 3] > } >,",
        "layer { name: 'a' input_param { shape [ { dim: [ 1 ] dim: [3] } ] } }",
        "layer: [ { name: 'a' input_param { shape: [ < dim: 1 dim: 3 > ] } } ]",
        "layer{name:'a'input_param{shape{dim:1 dim:3}}}",
        "\xef\xbb\xbflayer{name:'a' # \xc3\xa9\xff\r\ninput_param{shape{dim:1\r\ndim:3}}} # end",
        "#\n\n\v\f\tlayer { input_param { shape { dim: 1 dim: 3 } } name: 'a' }",
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        check_text("NetParameter", texts[i], want);
    check_text("NetParameter", "", "");
    check_text("NetParameter", "# nothing", "");
    check_text("NetParameter", "layer: [] input_dim: [ ]", "");
    check_text("NetParameter", "input: ['a', 'b'] input: 'c'",
               "input: \"a\"\ninput: \"b\"\ninput: \"c\"\n");
}

static void texts_that_protobuf_refuses_are_refused_with_their_position(void)
{
    static const char *const texts[][2] = {
        { "layer {", "1:8: } was expected for the message of line 1, not the end" },
        { "layer <\n}", "2:1: a field's name was expected, not }" },
        { "layer }", "1:7: : was expected" },
        { "}", "1:1: a field's name was expected, not }" },
        { "layer: 3", "1:8: { was expected, not 3" },
        { "name 'a'", "1:6: : was expected, not 'a'" },
        { "name: a", "1:7: a string was expected, not a" },
        { "name: 3", "1:7: a string was expected, not 3" },
        { "name:", "1:6: a string was expected, not the end of the text" },
        { "name: ['a']", "1:7: a string was expected, not [" },
        { "name: 'a' name: 'b'", "1:11: name is given twice" },
        { "state {} state {}", "1:10: state is given twice" },
        { "name: 'a',, debug_info: true", "1:11: a field's name was expected, not ," },
        { "name: 'a\n'", "1:9: a string cannot continue in the next line" },
        { "name: 'a", "1:9: the string is not terminated" },
        { "name: '\\q'", "1:8: there is no such escape sequence" },
        { "name: '\\x'", "1:8: there is no such escape sequence" },
        { "name: '\\u12'", "1:8: \\u must be followed by four" },
        { "name: '\\U00110000'", "1:8: \\U must be followed by eight" },
        { "name: '\\ud83d'", "1:7: half of a surrogate pair" },
        { "name: '\\ude00'", "1:7: half of a surrogate pair" },
        { "name: '\\ud83d\\u0041'", "1:7: half of a surrogate pair" },
        { "debug_info: 2", "1:13: the number is too large" },
        { "debug_info: TRUE", "1:13: true or false was expected, not TRUE" },
        { "debug_info: -1", "1:13: true or false was expected, not -" },
        { "input_dim: 2147483648", "1:12: the number is too large" },
        { "input_dim: -2147483649", "1:12: the number is too large" },
        { "input_dim: 99999999999999999999", "1:12: the number is too large" },
        { "input_dim: 1.5", "1:12: an integer was expected, not 1.5" },
        { "input_dim: 08", "1:13: a number that starts with 0 is octal" },
        { "input_dim: 0x", "1:14: 0x must be followed by hexadecimal digits" },
        { "input_dim: 1a", "1:13: a space is required between a number and a name" },
        { "input_dim: 1.5.2", "1:15: a second decimal point" },
        { "input_dim: 1e", "1:14: e must be followed by an exponent" },
        { "input_dim: 0x1.5", "1:15: hexadecimal and octal numbers are integers" },
        { "input_dim: [1 2]", "1:15: , or ] was expected, not 2" },
        { "input_dim: [1,]", "1:15: an integer was expected, not ]" },
        { "input_dim [1]", "1:11: : was expected, not [" },
        { "state { phase: TESTED }", "1:16: TESTED is not a value of phase: TRAIN, TEST" },
        { "state { phase: 2 }", "1:16: 2 is not a value of phase: TRAIN, TEST" },
        { "layer { dropout_param { dropout_ratio: 0x1 } }", "1:40: a decimal number was expected" },
        { "layer { dropout_param { dropout_ratio: 017 } }", "1:40: a decimal number was expected" },
        { "layer { dropout_param { dropout_ratio: half } }", "1:40: a number was expected" },
        { "layer { crop_param { offset: -1 } }", "1:30: an integer was expected, not -" },
        { "layer { clip_param {\n min: 0 } }", "1:20: ClipParameter lacks the required field max" },
        { "\xc3\xa9: 1", "1:1: a character that is not ASCII" },
        { "# \xc3\xa9\xc3\xa9\nname: '\xc3\xa9\xc3\xa9' name: ''", "2:12: name is given twice" },
        { "name: 'a' \x01", "1:11: a control character" },
        { "name: 'a' @", "1:11: a field's name was expected, not @" },
    };

    for (size_t i = 0; i < FERRY_TEST_COUNT(texts); i++)
        check_refused("NetParameter", texts[i][0], texts[i][1]);
    check_refused_bytes("NetParameter", "name: 'a' \0", 11, FERRY_EFORMAT, "1:11: a NUL byte");
    check_refused_bytes("NetParameter", "name: '\0'", 9, FERRY_EFORMAT, "1:8: a NUL byte");
    check_refused_bytes("NetParameter", "[a.b]: 1", 8, FERRY_EUNSUPPORTED, "1:1: extensions");
}

/* Returns a text with `depth` nested messages of the unknown field "x". */
static char *nested(int depth)
{
    char *text = calloc(1, (size_t)depth * 3 + 1);

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < depth; i++) {
        memcpy(text + 2 * i, "x{", 2);
        text[2 * depth + i] = '}';
    }
    return text;
}

static void the_depth_is_limited_and_parsing_uses_no_stack_per_level(void)
{
    char *text = nested(100);
    ferry_proto *p = net_of(text);

    CU_ASSERT_PTR_NOT_NULL(p);
    ferry_proto_close(p);
    free(text);
    text = nested(101);
    check_refused("NetParameter", text, "1:202: messages nest deeper than 100");
    free(text);
    text = nested(1000000);
    check_refused("NetParameter", text, "messages nest deeper than 100");
    free(text);
}

static void a_text_of_one_long_line_is_parsed_in_linear_time(void)
{
    enum { COUNT = 200000 };
    char *text = malloc((size_t)COUNT * 13 + 1);
    ferry_proto *p;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < COUNT; i++)
        memcpy(text + 13 * i, "input_dim:42 ", 14);
    p = proto_of("NetParameter", text, (size_t)COUNT * 13);
    CU_ASSERT_EQUAL(ferry_proto_value_count(p, "input_dim"), COUNT);
    CU_ASSERT_EQUAL(ferry_proto_get_location(p, "input_dim", COUNT - 1).column, 13 * COUNT - 2);
    ferry_proto_close(p);
    free(text);
}

static void numbers_do_not_depend_on_the_locale(void)
{
    if (!ferry_test_comma())
        return;
    check_text("FillerParameter", "value: 1.5 std: 0.25f", "value: 1.5\nstd: 0.25\n");
    setlocale(LC_NUMERIC, "C");
}

static void a_truncated_text_is_one_error_or_a_complete_text(void)
{
    static const char text[] =
        "name: 'a\\x41' # \xc3\xa9\n"
        "layer { name: \"c\" type: 'Convolution' convolution_param < num_output: 0x10\n"
        "kernel_size: [3, 5] weight_filler: { type: 'xavier' std: -.5e-1f } > phase: TEST }\n";

    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *piece = malloc(n + 1); /* of its own, so that a sanitizer detects each overrun */
        ferry_proto *p;

        CU_ASSERT_PTR_NOT_NULL_FATAL(piece);
        memcpy(piece, text, n);
        p = proto_of("NetParameter", piece, n);
        if (!p && (ferry_last_error_code() != FERRY_EFORMAT ||
                   strncmp(ferry_last_error(), "t.prototxt:", 11) != 0)) {
            CU_FAIL("an error without its place");
            printf("  at %zu: %s\n", n, ferry_last_error());
        }
        ferry_proto_close(p);
        free(piece);
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(values_of_every_kind_are_read),
    FERRY_TEST(strings_are_unescaped_and_joined),
    FERRY_TEST(bytes_keep_their_nul),
    FERRY_TEST(messages_are_parsed_in_every_syntax),
    FERRY_TEST(texts_that_protobuf_refuses_are_refused_with_their_position),
    FERRY_TEST(the_depth_is_limited_and_parsing_uses_no_stack_per_level),
    FERRY_TEST(a_text_of_one_long_line_is_parsed_in_linear_time),
    FERRY_TEST(numbers_do_not_depend_on_the_locale),
    FERRY_TEST(a_truncated_text_is_one_error_or_a_complete_text),
};

int main(int argc, char **argv)
{
    return ferry_test_main(argc, argv, "proto-text", cases, FERRY_TEST_COUNT(cases));
}
