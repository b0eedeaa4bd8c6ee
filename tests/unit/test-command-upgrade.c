/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `ferry upgrade`. */

static char got[65536];

static void put_bytes(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Upgrades `text`, with options; the result is in `got`. Returns the exit status. */
static int upgrade(const char *text, const char *options)
{
    char line[1024];
    int status;

    put_bytes("in.prototxt", text, strlen(text));
    unlink(in_folder("out.prototxt"));
    snprintf(line, sizeof(line), "upgrade %s %s %s", in_folder("in.prototxt"),
             in_folder("out.prototxt"), options);
    status = ferry(line);
    *got = '\0';
    if (access(in_folder("out.prototxt"), F_OK) == 0)
        slurp(in_folder("out.prototxt"), got, sizeof(got));
    return status;
}

static void check_upgrade(const char *text, const char *options, const char *want)
{
    CU_ASSERT_EQUAL(upgrade(text, options), 0);
    CU_ASSERT_STRING_EQUAL(got, want);
    if (strcmp(got, want) != 0)
        printf("  %s\n  got %s  want %s", err, got, want);
}

/* An error of one line that contains `about`, and no output file. */
static void check_refused(const char *text, const char *options, int status, const char *about)
{
    CU_ASSERT_EQUAL(upgrade(text, options), status);
    CU_ASSERT(one_line_of_error(about));
    CU_ASSERT_STRING_EQUAL(got, "");
}

/* ---- forms ---------------------------------------------------------------------------------- */

static void v1_text_becomes_v2_text(void)
{
    check_upgrade("name: 'n' input: 'x' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n"
                  "layers { name: 'r' type: RELU bottom: 'x' top: 'y' blobs_lr: 2 }\n",
                  "",
                  "name: \"n\"\n"
                  "layer {\n  name: \"input\"\n  type: \"Input\"\n  top: \"x\"\n  input_param {\n"
                  "    shape {\n      dim: 1\n      dim: 2\n      dim: 3\n      dim: 4\n    }\n"
                  "  }\n}\n"
                  "layer {\n  name: \"r\"\n  type: \"ReLU\"\n  bottom: \"x\"\n  top: \"y\"\n"
                  "  param {\n    lr_mult: 2\n  }\n}\n");
}

static void v0_text_becomes_v2_text(void)
{
    check_upgrade("layers { layer { name: 'p' type: 'pool' kernelsize: 3 } bottom: 'x' top: 'y' }\n"
                  "input: 'x'\n",
                  "",
                  "layer {\n  name: \"p\"\n  type: \"Pooling\"\n  bottom: \"x\"\n  top: \"y\"\n"
                  "  pooling_param {\n    kernel_size: 3\n  }\n}\n");
}

static void a_current_text_keeps_its_comments(void)
{
    static const char text[] = "# a net\nlayer { name: 'r' type: 'ReLU' # why\n  bottom: 'x' }\n";

    check_upgrade(text, "", text);
}

static const char commented[] = "# a net\n"
                                "name: 'n' # its name\n"
                                "# the input\n"
                                "layer { # opens\n"
                                "  name: 'i' type: 'Input' top: 'x'\n"
                                "  input_param { shape { # dims\n"
                                "    dim: 1 # batch\n"
                                "  } } # of x\r\n"
                                "  # no more\n"
                                "} # i\n"
                                "# why\n"
                                "layer { name: 'r' # rectified\n"
                                "  type: 'ReLU' bottom: 'x' top: 'y' }\n"
                                "# the end";

static void a_changed_current_text_keeps_its_comments(void)
{
    check_upgrade(commented, "--input-dims 7",
                  "# a net\nname: \"n\" # its name\n# the input\nlayer { # opens\n"
                  "  name: \"i\"\n  type: \"Input\"\n  top: \"x\"\n"
                  "  input_param {\n    shape { # dims\n      dim: 7\n    }\n  } # of x\n"
                  "  # no more\n} # i\n"
                  "# why\nlayer {\n  name: \"r\" # rectified\n  type: \"ReLU\"\n  bottom: \"x\"\n"
                  "  top: \"y\"\n}\n# the end\n");
    check_upgrade(commented, "", commented);
}

static void a_text_that_is_upgraded_loses_its_comments(void)
{
    check_upgrade("# a net\nlayers { name: 'r' type: RELU bottom: 'x' top: 'y' } # r\n", "",
                  "layer {\n  name: \"r\"\n  type: \"ReLU\"\n  bottom: \"x\"\n  top: \"y\"\n}\n");
}

static void a_part_keeps_the_comments_of_its_layers(void)
{
    char line[1024];

    put_bytes("in.prototxt", commented, strlen(commented));
    snprintf(line, sizeof(line), "upgrade --split-at r %s %s %s", in_folder("in.prototxt"),
             in_folder("out.prototxt"), in_folder("rest.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    slurp(in_folder("out.prototxt"), got, sizeof(got));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "      dim: 1 # batch\n    }\n  } # of x\n"));
    CU_ASSERT_PTR_NULL(strstr(got, "# why"));
    slurp(in_folder("rest.prototxt"), got, sizeof(got));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "# why\nlayer {\n  name: \"r\" # rectified\n"));
    CU_ASSERT_PTR_NULL(strstr(got, "# the input"));
}

static void a_solver_gets_the_name_of_its_type(void)
{
    check_upgrade("net: 'n' base_lr: 0.5 solver_type: ADAM\n", "",
                  "base_lr: 0.5\nnet: \"n\"\ntype: \"Adam\"\n");
}

/* layers { name: "ip" type: INNER_PRODUCT blobs { num: 1 data: 1.5 } } in V1 and in V2. */
static const char v1_binary[] = "\x0a\x01n\x12\x10\x22\x02ip\x28\x0e\x32\x08"
                                "\x08\x01\x2a\x04\0\0\xc0\x3f";
static const char v2_binary[] = "\x0a\x01n\xa2\x06\x1c\x0a\x02ip\x12\x0cInnerProduct\x3a\x08"
                                "\x08\x01\x2a\x04\0\0\xc0\x3f";

static void blobs_of_a_binary_file_are_copied(void)
{
    char line[1024], bytes[64];
    FILE *file;
    size_t n;

    put_bytes("in.caffemodel", v1_binary, sizeof(v1_binary) - 1);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.caffemodel"),
             in_folder("out.caffemodel"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    file = fopen(in_folder("out.caffemodel"), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    n = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    CU_ASSERT_EQUAL(n, sizeof(v2_binary) - 1);
    CU_ASSERT(n == sizeof(v2_binary) - 1 && memcmp(bytes, v2_binary, n) == 0);
}

/* ---- folding -------------------------------------------------------------------------------- */

static const char conv_and_scale[] =
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
    "convolution_param { num_output: 2 kernel_size: 1 bias_term: false } }\n"
    "layer { name: 's' type: 'Scale' bottom: 'c' top: 'c' }\n";

/* Options that fold with the weights `w.caffemodel` of the folder. */
static const char *fold_options(void)
{
    static char options[1024];

    snprintf(options, sizeof(options), "--fold --weights %s --weights-out %s",
             in_folder("w.caffemodel"), in_folder("out.caffemodel"));
    return options;
}

/* Appends layer { name: NAME blobs { num: n channels: 1 height: 1 width: 1 data: 1 … } }. */
static size_t put_ones(char *to, char name, char n)
{
    static const char one[] = "\x00\x00\x80\x3f";
    const char head[] = { '\xa2', '\x06', (char)(4 * n + 15), '\x0a', 1,      name,   '\x3a',
                          (char)(4 * n + 10), '\x08', n,      '\x10', 1,      '\x18', 1,
                          '\x20', 1,      '\x2a', (char)(4 * n) };

    memcpy(to, head, sizeof(head));
    for (int i = 0; i < n; i++)
        memcpy(to + sizeof(head) + 4 * i, one, 4);
    return sizeof(head) + 4 * (size_t)n;
}

static void put_weights(char weights, char scale, char factors)
{
    char bytes[256];
    size_t size = put_ones(bytes, 'c', weights);

    size += put_ones(bytes + size, scale, factors);
    put_bytes("w.caffemodel", bytes, size);
}

static void a_text_is_folded_with_its_weights(void)
{
    char line[1024];

    put_weights(2, 's', 2);
    check_upgrade(conv_and_scale, fold_options(),
                  "layer {\n  name: \"c\"\n  type: \"Convolution\"\n  bottom: \"x\"\n"
                  "  top: \"c\"\n  convolution_param {\n    num_output: 2\n    kernel_size: 1\n"
                  "  }\n}\n");
    snprintf(line, sizeof(line), "inspect %s", in_folder("out.caffemodel"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "c/1"));
    CU_ASSERT_PTR_NULL(strstr(out, "s/0"));
    unlink(in_folder("out.caffemodel"));
}

static void a_text_that_cannot_be_folded_leaves_no_file(void)
{
    unlink(in_folder("w.caffemodel"));
    check_refused(conv_and_scale, fold_options(), 1, "w.caffemodel: No such file");
    put_weights(2, 'o', 2);
    check_refused(conv_and_scale, fold_options(), 1, "w.caffemodel: no blob 0 of layer \"s\"");
    put_weights(2, 's', 3);
    check_refused(conv_and_scale, fold_options(), 1,
                  "blob 0 of layer \"s\" has 3 values, not the 2 of the channels");
    put_weights(3, 's', 2);
    check_refused(conv_and_scale, fold_options(), 1,
                  "3 weights of layer \"c\" do not fit its 2 outputs");
    put_bytes("w.caffemodel", "garbage", 7);
    check_refused(conv_and_scale, fold_options(), 1, "w.caffemodel");
    CU_ASSERT_NOT_EQUAL(access(in_folder("out.caffemodel"), F_OK), 0);
}

static void options_that_contradict_a_fold_are_refused(void)
{
    check_refused(conv_and_scale, "--fold", 2, "--fold of a text needs --weights");
    check_refused(conv_and_scale, "--weights a.npz --weights-out b.npz", 2, "with --fold");
    check_refused(conv_and_scale, "--fold --weights a.npz", 2, "both required");
    check_refused(conv_and_scale, "--fold --split-at s", 2, "missing files");
}

/* ---- input dims ----------------------------------------------------------------------------- */

#define INPUT(dims) "layer {\n  name: \"i\"\n  type: \"Input\"\n  top: \"x\"\n" dims "}\n"
#define SHAPE(dims) "  input_param {\n    shape {\n" dims "    }\n  }\n"

static void input_dims_replace_the_shape(void)
{
    check_upgrade(
        "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } }",
        "--input-dims 5,6,7", INPUT(SHAPE("      dim: 5\n      dim: 6\n      dim: 7\n")));
    check_upgrade(
        "name: 'n' input: 'data' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n",
        "--input-dims=data=9",
        "name: \"n\"\nlayer {\n  name: \"input\"\n  type: \"Input\"\n  top: \"data\"\n" SHAPE(
            "      dim: 9\n") "}\n");
}

static void each_input_may_have_dims(void)
{
    check_upgrade("layer { name: 'i' type: 'Input' top: 'x' top: 'a=b' "
                  "input_param { shape { dim: 1 } } }",
                  "--input-dims a=b=3 --input-dims x=4,5",
                  "layer {\n  name: \"i\"\n  type: \"Input\"\n  top: \"x\"\n  top: \"a=b\"\n"
                  "  input_param {\n    shape {\n      dim: 4\n      dim: 5\n    }\n"
                  "    shape {\n      dim: 3\n    }\n  }\n}\n");
}

static void invalid_dims_print_one_error_line_and_write_no_file(void)
{
    static const char one[] = "layer { type: 'Input' top: 'x' input_param { shape { dim: 1 } } }";
    static const char *const bad[] = { "0",  "1,",  "1,,2",       "-1",
                                       "a",  "x=",  "\"\"",       "\" 1\"",
                                       "1x", "1/2", "2147483648", "99999999999999999999" };
    char options[64];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(options, sizeof(options), "--input-dims %s", bad[i]);
        check_refused(one, options, 2, "expected 1 to 32 whole numbers from 1");
    }
    check_refused(one, "--input-dims y=1", 1, "no input is named \"y\"; the inputs are \"x\"");
    check_refused("layer { type: 'Input' top: 'x' top: 'y' }", "--input-dims 1", 1,
                  "several inputs: \"x\", \"y\"");
    check_refused("base_lr: 0.5", "--input-dims 1", 1, "SolverParameter is not a net");
    check_refused(one, "--input-dims", 2, "--input-dims requires a value");
}

/* ---- V1 ------------------------------------------------------------------------------------- */

static void a_net_is_written_in_the_v1_form(void)
{
    check_upgrade(
        "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 dim: "
        "3 dim: 4 } } } layer { name: 'r' type: 'InnerProduct' bottom: 'x' top: 'y' "
        "param { lr_mult: 2 } param { decay_mult: 0 } }",
        "--to v1",
        "layers {\n  bottom: \"x\"\n  top: \"y\"\n  name: \"r\"\n  type: INNER_PRODUCT\n"
        "  blobs_lr: 2\n  weight_decay: 1\n  weight_decay: 0\n}\n"
        "input: \"x\"\ninput_dim: 1\ninput_dim: 2\ninput_dim: 3\ninput_dim: 4\n");
    check_upgrade("layers { layer { name: 'r' type: 'relu' } }", "--to v1",
                  "layers {\n  name: \"r\"\n  type: RELU\n}\n");
}

static void a_net_without_a_v1_form_prints_one_error_line_and_writes_no_file(void)
{
    check_refused("layer { name: 's' type: 'Scale' }", "--to v1", 1,
                  "in.prototxt:1:25: layer \"s\": V1 has no layers of type Scale");
    check_refused("base_lr: 0.5", "--to v1", 1, "SolverParameter is not a net");
    check_refused("layer { }", "--to v3", 2, "--to v3: expected v1 or v2");
}

static void blobs_of_a_v1_file_are_the_same_bytes(void)
{
    char line[1024];

    put_bytes("in.caffemodel", v2_binary, sizeof(v2_binary) - 1);
    snprintf(line, sizeof(line), "upgrade --to v1 %s %s", in_folder("in.caffemodel"),
             in_folder("out.caffemodel"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    slurp(in_folder("out.caffemodel"), got, sizeof(got));
    CU_ASSERT(memcmp(got, v1_binary, sizeof(v1_binary) - 1) == 0);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A net whose blob y is changed in place before it is read twice. */
static const char whole[] =
    "input: 'x' input_dim: 2 input_dim: 3 input_dim: 5 input_dim: 5\n"
    "layer { name: 'y' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 2 "
    "kernel_size: 3 weight_filler { type: 'constant' value: 0.25 } bias_filler { type: 'constant' "
    "value: -4 } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'y' top: 'y' }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'y' top: 'p' pooling_param { kernel_size: 2 } }\n"
    "layer { name: 'w' type: 'PriorBox' bottom: 'p' bottom: 'x' top: 'w' prior_box_param { "
    "min_size: 2 } }\n"
    "layer { name: 'f' type: 'Flatten' bottom: 'y' top: 'f' }\n"
    "layer { name: 'g' type: 'Flatten' bottom: 'p' top: 'g' }\n"
    "layer { name: 'c' type: 'Concat' bottom: 'f' bottom: 'g' top: 'c' }\n";

/* Numbers −37 … 112 of shape 2 × 3 × 5 × 5 as a .npy of format 1.0. */
static void put_numbers(void)
{
    static char bytes[128 + 4 * 150];
    int used = snprintf(bytes + 10, 118,
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 5, 5), }");

    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(bytes + 10 + used, ' ', (size_t)(117 - used));
    bytes[127] = '\n';
    for (int i = 0; i < 150; i++) {
        float value = (float)(i - 37);

        memcpy(bytes + 128 + 4 * i, &value, 4);
    }
    put_bytes("x.npy", bytes, sizeof(bytes));
}

/* Runs a shell command in the folder of the files; it must succeed. */
static void run_in_folder(const char *command)
{
    char line[2048];
    int status;

    snprintf(line, sizeof(line), "cd \"$(dirname %s)\" && %s", in_folder("x"), command);
    status = shell(line);
    CU_ASSERT_EQUAL(status, 0);
    if (status)
        printf("  %s\n  %s\n", command, err);
}

static void split_at(const char *layer)
{
    char line[256];

    put_bytes("in.prototxt", whole, sizeof(whole) - 1);
    snprintf(line, sizeof(line),
             "\"$FERRY_TEST_COMMAND\" upgrade --split-at %s in.prototxt a.prototxt b.prototxt",
             layer);
    run_in_folder(line);
}

/* The parts after each other give the numbers of the whole net. */
static void two_parts_compute_the_same_as_the_net(void)
{
    static const struct {
        const char *layer, *blobs;
    } at[] = { { "r", "x,y" }, { "p", "x,y" }, { "w", "x,p,y" }, { "f", "p,y" }, { "c", "f,g" } };
    char line[512];

    put_numbers();
    put_bytes("in.prototxt", whole, sizeof(whole) - 1);
    run_in_folder("\"$FERRY_TEST_COMMAND\" run in.prototxt --input x=x.npy --blobs c -o c.npz");
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        split_at(at[i].layer);
        snprintf(line, sizeof(line),
                 "\"$FERRY_TEST_COMMAND\" run a.prototxt --input x=x.npy --blobs %s -o a.npz",
                 at[i].blobs);
        run_in_folder(line);
        run_in_folder("\"$FERRY_TEST_COMMAND\" run b.prototxt --input a.npz --blobs c -o b.npz");
        run_in_folder("\"$FERRY_TEST_COMMAND\" diff --tolerance 0 c.npz b.npz");
    }
}

static void the_second_part_has_inputs_of_the_shapes(void)
{
    split_at("c");
    slurp(in_folder("b.prototxt"), got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(
        got,
        "layer {\n  name: \"input_f\"\n  type: \"Input\"\n  top: \"f\"\n" SHAPE(
            "      dim: 2\n      dim: 18\n") "}\n"
                                             "layer {\n  name: \"input_g\"\n  type: \"Input\"\n  "
                                             "top: \"g\"\n" SHAPE(
                                                 "      dim: 2\n      dim: 8\n") "}\n"
                                                                                 "layer {\n  name: "
                                                                                 "\"c\"\n  type: "
                                                                                 "\"Concat\"\n  "
                                                                                 "bottom: \"f\"\n  "
                                                                                 "bottom: \"g\"\n"
                                                                                 "  top: "
                                                                                 "\"c\"\n}\n");
    slurp(in_folder("a.prototxt"), got, sizeof(got));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "top: \"g\""));
    CU_ASSERT_PTR_NULL(strstr(got, "Concat"));
}

static void a_blob_that_the_first_part_reads_is_a_warning(void)
{
    split_at("f");
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "reads blob \"y\", which is not an output"));
    split_at("c");
    CU_ASSERT_PTR_NULL(strstr(err, "not an output"));
}

static void other_options_apply_to_both_parts(void)
{
    static const char v1[] = "input: 'x' input_dim: 1 input_dim: 1 input_dim: 2 input_dim: 2\n"
                             "layers { name: 'a' type: RELU bottom: 'x' top: 'y' }\n"
                             "layers { name: 'b' type: TANH bottom: 'y' top: 'z' }\n";

    put_bytes("in.prototxt", whole, sizeof(whole) - 1);
    run_in_folder("\"$FERRY_TEST_COMMAND\" upgrade --split-at p --input-dims 7,3,9,9 in.prototxt "
                  "a.prototxt b.prototxt");
    slurp(in_folder("a.prototxt"), got, sizeof(got));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, SHAPE("      dim: 7\n      dim: 3\n      dim: 9\n"
                                             "      dim: 9\n")));
    slurp(in_folder("b.prototxt"), got, sizeof(got));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, SHAPE("      dim: 7\n      dim: 2\n      dim: 7\n"
                                             "      dim: 7\n")));
    put_bytes("in.prototxt", v1, sizeof(v1) - 1);
    run_in_folder("\"$FERRY_TEST_COMMAND\" upgrade --split-at b --to v1 in.prototxt a.prototxt "
                  "b.prototxt");
    slurp(in_folder("b.prototxt"), got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "layers {\n  bottom: \"y\"\n  top: \"z\"\n  name: \"b\"\n"
                                "  type: TANH\n}\ninput: \"y\"\ninput_dim: 1\ninput_dim: 1\n"
                                "input_dim: 2\ninput_dim: 2\n");
}

/*
 * Layers of a binary file: Inputs x and y of 1 × 2, and InnerProducts a from x to y and b from y to
 * z with their 2 × 2 weights.
 */
#define BYTES_X "\242\006\026\012\001i\022\005Input\042\001x\372\010\006\012\004\012\002\001\002"
#define BYTES_A                                                                                   \
    "\242\006\070\012\001a\022\014InnerProduct\032\001x\042\001y\072\030\072\004\012\002\002\002" \
    "\052\020\000\000\200\077\000\000\000\100\000\000\100\100\000\000\200\100\252\007\004\010"    \
    "\002\020\000"
#define BYTES_Y \
    "\242\006\034\012\007input_y\022\005Input\042\001y\372\010\006\012\004\012\002\001\002"
#define BYTES_B                                                                                   \
    "\242\006\070\012\001b\022\014InnerProduct\032\001y\042\001z\072\030\072\004\012\002\002\002" \
    "\052\020\000\000\240\100\000\000\300\100\000\000\340\100\000\000\000A\252\007\004\010\002"   \
    "\020\000"

/* The first part replaces the file that the blobs of both parts are copied from. */
static void parts_of_a_binary_file_keep_their_blobs(void)
{
    static const char all[] = BYTES_X BYTES_A BYTES_B, first[] = BYTES_X BYTES_A,
                      second[] = BYTES_Y BYTES_B;

    put_bytes("w", all, sizeof(all) - 1);
    put_bytes("want-a", first, sizeof(first) - 1);
    put_bytes("want-b", second, sizeof(second) - 1);
    run_in_folder("\"$FERRY_TEST_COMMAND\" upgrade --split-at b w w b");
    run_in_folder("cmp w want-a && cmp b want-b");
}

static void a_net_that_cannot_be_cut_prints_one_error_line_and_writes_no_file(void)
{
    char options[300];

    snprintf(options, sizeof(options), "%s --split-at q", in_folder("second"));
    check_refused("layer { name: 'a' type: 'ReLU' bottom: 'x' top: 'y' }", options, 1,
                  "no layer is named \"q\"");
    snprintf(options, sizeof(options), "%s --split-at a", in_folder("second"));
    check_refused("layer { name: 'a' type: 'Input' top: 'y' input_param { shape { dim: 1 } } }",
                  options, 1, "\"a\" is the first layer");
    CU_ASSERT(access(in_folder("second"), F_OK) != 0);
    check_refused("layer { }", "--split-at a", 2, "missing files");
    check_refused("layer { }", in_folder("second"), 2, "a second output needs --split-at");
    snprintf(options, sizeof(options), "%s --split-at a", in_folder("out.prototxt"));
    check_refused("layer { }", options, 2, "both parts would be this file");
}

/* ---- errors --------------------------------------------------------------------------------- */

static void an_invalid_text_prints_one_error_line_and_writes_no_file(void)
{
    check_refused("layer { name: }", "", 1, "in.prototxt:1:15");
    check_refused("layer { } layers { }", "", 1, "in.prototxt:1:18");
    check_refused("layers { layer { name: 'a' type: 'nonsense' } }", "", 1, "nonsense");
}

static void parameters_that_cannot_be_upgraded_change_the_exit_status(void)
{
    CU_ASSERT_EQUAL(upgrade("layers { layer { name: 'r' type: 'relu' kernelsize: 3 } }", ""), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "Unknown parameter kernelsize for layer type relu"));
    CU_ASSERT_PTR_NOT_NULL(strstr(got, "type: \"ReLU\""));
}

static void a_file_may_be_upgraded_in_place(void)
{
    char line[1024];

    put_bytes("in.prototxt", "layers { type: RELU }", 21);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.prototxt"),
             in_folder("in.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 0);
    slurp(in_folder("in.prototxt"), got, sizeof(got));
    CU_ASSERT_STRING_EQUAL(got, "layer {\n  type: \"ReLU\"\n}\n");
}

static void an_unwritable_result_leaves_no_file(void)
{
    char line[1024];

    put_bytes("in.prototxt", "layers { type: RELU }", 21);
    snprintf(line, sizeof(line), "upgrade %s %s", in_folder("in.prototxt"), in_folder("."));
    CU_ASSERT_EQUAL(ferry(line), 1);
    CU_ASSERT(strstr(err, "is a directory") != NULL);
    snprintf(line, sizeof(line), "upgrade %s", in_folder("in.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 2);
    CU_ASSERT(one_line_of_error("upgrade"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(v1_text_becomes_v2_text),
    FERRY_TEST(v0_text_becomes_v2_text),
    FERRY_TEST(a_current_text_keeps_its_comments),
    FERRY_TEST(a_changed_current_text_keeps_its_comments),
    FERRY_TEST(a_text_that_is_upgraded_loses_its_comments),
    FERRY_TEST(a_part_keeps_the_comments_of_its_layers),
    FERRY_TEST(a_solver_gets_the_name_of_its_type),
    FERRY_TEST(blobs_of_a_binary_file_are_copied),
    FERRY_TEST(a_text_is_folded_with_its_weights),
    FERRY_TEST(a_text_that_cannot_be_folded_leaves_no_file),
    FERRY_TEST(options_that_contradict_a_fold_are_refused),
    FERRY_TEST(input_dims_replace_the_shape),
    FERRY_TEST(each_input_may_have_dims),
    FERRY_TEST(invalid_dims_print_one_error_line_and_write_no_file),
    FERRY_TEST(a_net_is_written_in_the_v1_form),
    FERRY_TEST(a_net_without_a_v1_form_prints_one_error_line_and_writes_no_file),
    FERRY_TEST(blobs_of_a_v1_file_are_the_same_bytes),
    FERRY_TEST(two_parts_compute_the_same_as_the_net),
    FERRY_TEST(the_second_part_has_inputs_of_the_shapes),
    FERRY_TEST(a_blob_that_the_first_part_reads_is_a_warning),
    FERRY_TEST(other_options_apply_to_both_parts),
    FERRY_TEST(parts_of_a_binary_file_keep_their_blobs),
    FERRY_TEST(a_net_that_cannot_be_cut_prints_one_error_line_and_writes_no_file),
    FERRY_TEST(an_invalid_text_prints_one_error_line_and_writes_no_file),
    FERRY_TEST(parameters_that_cannot_be_upgraded_change_the_exit_status),
    FERRY_TEST(a_file_may_be_upgraded_in_place),
    FERRY_TEST(an_unwritable_result_leaves_no_file),
};

int main(int argc, char **argv)
{
    setenv("FERRY_TEST_BACKENDS", "cpu", 1); /* only texts and weights are involved */
    return command_main(argc, argv, "command upgrade", cases, FERRY_TEST_COUNT(cases));
}
