/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry quantize`: the ranges that each method chooses, and the files that it writes. */

#define COUNT 50000 /* 500 items of 100 */

static float values[COUNT];

/*
 * x goes through an inner product with weights of a uniform distribution. There are so few rows in
 * a batch that the product starts no thread: LeakSanitizer crashes if one is alive at the end.
 */
static const char rows[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 50 dim: 100 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 50 weight_filler { type: 'uniform' min: -1 max: 1 } } }\n";

static const char pixels[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 9 dim: 13\n"
    "  } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 8\n"
    "  kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }\n"
    "layer { name: 'd' type: 'Convolution' bottom: 'c' top: 'd' convolution_param { num_output: 4\n"
    "  kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'd' top: 'y' inner_product_param {\n"
    "  num_output: 5 weight_filler { type: 'xavier' } } }\n";

/* Runs the command on a net with these further arguments. */
static int quantize(const char *net, const char *arguments)
{
    char command[2048];

    write_text("net.prototxt", net);
    snprintf(command, sizeof command, "quantize %s -o %s %s", in_folder("net.prototxt"),
             in_folder("q.caffemodel"), arguments);
    return ferry(command);
}

/* Runs it on the values, and reads the range of x from the net's text. */
static void choose(const char *arguments, double *from, double *to)
{
    char command[1024], *range;

    write_array("x.npy", "(500, 100)", values, COUNT);
    snprintf(command, sizeof command, "--calibrate x=%s --text %s %s", in_folder("x.npy"),
             in_folder("q.prototxt"), arguments);
    CU_ASSERT_EQUAL(quantize(rows, command), 0);
    slurp(in_folder("q.prototxt"), out, sizeof out);
    range = strstr(out, "blob: \"x\"");
    *from = *to = NAN;
    CU_ASSERT_PTR_NOT_NULL_FATAL(range);
    CU_ASSERT_EQUAL(sscanf(range, "blob: \"x\" min: %lf max: %lf", from, to), 2);
}

/* ---- distributions --------------------------------------------------------------------------- */

/* Evenly from `from` to `to`, in an order that mixes the batches. */
static void fill_evenly(double from, double to)
{
    for (int i = 0; i < COUNT; i++)
        values[(int64_t)i * 7919 % COUNT] = (float)(from + (to - from) * (i + 0.5) / COUNT);
}

/* The quantiles of a normal distribution, by Newton's method from the quantile before. */
static void fill_normally(double deviation)
{
    double x = -4.5;

    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < 4; k++)
            x -= (0.5 * erfc(-x / sqrt(2)) - (i + 0.5) / COUNT) * sqrt(2 * acos(-1)) *
                 exp(x * x / 2);
        values[(int64_t)i * 7919 % COUNT] = (float)(x * deviation);
    }
}

/* The quantiles of a Laplace distribution. */
static void fill_laplace(double scale)
{
    for (int i = 0; i < COUNT; i++) {
        double p = (i + 0.5) / COUNT, x = p < 0.5 ? log(2 * p) : -log(2 - 2 * p);

        values[(int64_t)i * 7919 % COUNT] = (float)(x * scale);
    }
}

static bool is_near(double a, double b, double tolerance)
{
    if (fabs(a - b) <= tolerance)
        return true;
    printf("%g is not %g within %g\n", a, b, tolerance);
    return false;
}

/* The methods compute on the host: skips the case on other devices than the CPU. */
static bool is_skipped(void)
{
    if (strcmp(ferry_test_backend(), "cpu") == 0)
        return false;
    ferry_test_skip("the methods are the same for all devices");
    return true;
}

/* ---- methods --------------------------------------------------------------------------------- */

static void minmax_uses_the_extremes_of_all_batches(void)
{
    double from, to;

    if (is_skipped())
        return;
    fill_evenly(-3, 5);
    choose("", &from, &to);
    CU_ASSERT(is_near(from, -3, 1e-4));
    CU_ASSERT(is_near(to, 5, 1e-4));
    values[3] = 1000;
    values[COUNT - 1] = -7;
    values[17] = NAN;
    values[18] = INFINITY;
    choose("--batch 7", &from, &to);
    CU_ASSERT(is_near(from, -7, 1e-4));
    CU_ASSERT(is_near(to, 1000, 1e-4));
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "2 values are not finite"));
}

static void percentile_excludes_half_of_the_remainder_at_each_end(void)
{
    double from, to;

    if (is_skipped())
        return;
    fill_evenly(0, 1);
    choose("--percentile 99", &from, &to);
    CU_ASSERT(is_near(from, 0.005, 0.001));
    CU_ASSERT(is_near(to, 0.995, 0.001));
    choose("--method percentile", &from, &to);
    CU_ASSERT(is_near(from, 0, 0.001));
    CU_ASSERT(is_near(to, 1, 0.001));
    for (int i = 0; i < COUNT; i += 2) /* zeros count */
        values[i] = 0;
    choose("--percentile 90", &from, &to);
    CU_ASSERT(is_near(from, 0, 0.001));
    CU_ASSERT(is_near(to, 0.9, 0.001));
}

/* Without the outlier 128 levels span four standard deviations, with it only some of them. */
static void kl_excludes_an_outlier(void)
{
    double from, to, other;

    if (is_skipped())
        return;
    fill_normally(1);
    values[5] = 32;
    choose("--method kl", &from, &to);
    CU_ASSERT(to > 2.5 && to < 5);
    CU_ASSERT(is_near(from, -to, 0.02));
    for (int i = 0; i < COUNT; i++)
        values[i] = i % 2 ? 0 : fabsf(values[i]);
    values[6] = 32;
    choose("--method kl", &from, &other);
    CU_ASSERT(other > 2.5 && other < 5);
    CU_ASSERT_EQUAL(from, 0);
}

static void kl_keeps_an_even_distribution(void)
{
    double from, to;

    if (is_skipped())
        return;
    fill_evenly(-2, 2);
    choose("--method kl", &from, &to);
    CU_ASSERT(is_near(from, -2, 0.02));
    CU_ASSERT(is_near(to, 2, 0.02));
}

/*
 * The optima of 8 bits by R. Banner et al., "Post training 4-bit quantization", table of ACIQ: 3.92
 * deviations of a normal distribution, 9.89 scales of a Laplace distribution.
 */
static void mse_finds_the_published_optima(void)
{
    double from, to;

    if (is_skipped())
        return;
    fill_normally(2);
    choose("--method mse", &from, &to);
    CU_ASSERT(is_near(from, -2 * 3.92, 0.3));
    CU_ASSERT(is_near(to, 2 * 3.92, 0.3));
    fill_laplace(0.5);
    choose("--method mse", &from, &to);
    CU_ASSERT(is_near(from, -0.5 * 9.89, 0.25));
    CU_ASSERT(is_near(to, 0.5 * 9.89, 0.25));
}

/*
 * Clipping does not reduce the error of a uniform distribution, so the range is kept.
 */
static void mse_keeps_an_even_distribution(void)
{
    double from, to;

    if (is_skipped())
        return;
    fill_evenly(0, 1);
    choose("--method mse", &from, &to);
    CU_ASSERT(is_near(from, 0, 1e-3));
    CU_ASSERT(is_near(to, 0.998, 2e-3));
    fill_evenly(-6, -5); /* levels are the same on both sides of 0 */
    choose("--method mse", &from, &to);
    CU_ASSERT(is_near(from, -5.99, 0.01));
    CU_ASSERT(is_near(to, -5, 1e-3));
}

/*
 * Even values have a third of their squared extreme as power, and a twelfth of a squared step as
 * noise: 48.1 dB in 127 levels on each side of 0, 54.2 dB in 256 levels above it.
 */
static void the_report_has_the_ratios_of_weights_and_inputs(void)
{
    double weights = 0, input = 0, both = 0;
    char command[1024], *line;

    if (is_skipped())
        return;
    fill_evenly(0, 1);
    write_array("x.npy", "(500, 100)", values, COUNT);
    snprintf(command, sizeof command, "--calibrate x=%s --report", in_folder("x.npy"));
    CU_ASSERT_EQUAL(quantize(rows, command), 0);
    line = strstr(out, "\nip ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(line);
    CU_ASSERT_EQUAL(sscanf(line, " ip %lf %lf %lf", &weights, &input, &both), 3);
    CU_ASSERT(is_near(weights, 48.1, 0.5));
    CU_ASSERT(is_near(input, 54.2, 0.2));
    CU_ASSERT(is_near(both, -10 * log10(pow(10, -4.81) + pow(10, -5.42)), 0.5));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The arguments that calibrate `pixels` with two pictures in a list. */
static const char *with_pictures(const char *more)
{
    static char arguments[1024];
    char list[1200], folder[512];

    snprintf(folder, sizeof folder, "%s", ferry_test_own_data("images/rgb.png"));
    *strrchr(folder, '/') = '\0';
    snprintf(list, sizeof list, "%s/rgb.png 3\n%s/gray.png 1\n", folder, folder);
    write_text("list.txt", list);
    snprintf(arguments, sizeof arguments, "--calibrate %s %s", in_folder("list.txt"), more);
    return arguments;
}

static void the_weights_are_those_of_the_net_with_ranges(void)
{
    const char *pictures;
    char command[2048];

    CU_ASSERT_EQUAL(quantize(pixels, with_pictures("--scale 0.01")), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
    snprintf(command, sizeof command, "cp %s %s", in_folder("q.caffemodel"),
             in_folder("first.caffemodel"));
    CU_ASSERT_EQUAL(shell(command), 0);
    pictures = with_pictures("--scale 0.01 --batch 2");
    snprintf(command, sizeof command, "quantize %s -o %s %s --method mse --keep ip -q --text %s",
             in_folder("first.caffemodel"), in_folder("q.caffemodel"), pictures,
             in_folder("q.prototxt"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof command, "diff %s %s", in_folder("first.caffemodel"),
             in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    slurp(in_folder("q.prototxt"), out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "quantization {"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "    blob: \"c\"\n    min: 0\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "  float_layer: \"ip\"\n"));
}

/* The text and the caffemodel are nets that run, with and without their ranges. */
static void quantized_nets_run(void)
{
    char command[2048];

    CU_ASSERT_EQUAL(quantize(pixels, with_pictures("--scale 0.01")), 0);
    snprintf(command, sizeof command, "run %s --input %s --scale 0.01 --float --output %s",
             in_folder("q.caffemodel"), ferry_test_own_data("images/rgb.png"), in_folder("a.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof command, "run %s --input %s --scale 0.01 --output %s",
             in_folder("q.caffemodel"), ferry_test_own_data("images/rgb.png"), in_folder("b.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof command, "diff %s %s --tolerance 0.1", in_folder("a.npz"),
             in_folder("b.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
}

/* Runs q.caffemodel on a picture. */
static void run_picture(const char *name)
{
    char command[2048];

    snprintf(command, sizeof command, "run %s --input %s --scale 0.01 --output %s",
             in_folder("q.caffemodel"), ferry_test_own_data("images/rgb.png"), in_folder(name));
    CU_ASSERT_EQUAL(ferry(command), 0);
}

/* Checks that a file which a command has written has the values of q.caffemodel, in F32. */
static void check_floats(const char *path)
{
    char command[2048];

    snprintf(command, sizeof command, "diff %s %s", in_folder("q.caffemodel"), in_folder(path));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof command, "inspect %s", in_folder(path));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NULL(strstr(out, "I8_ROWS"));
    CU_ASSERT_PTR_NULL(strstr(out, "no such"));
}

/* Other formats, and sums, have the numbers that the integers stand for. */
static void check_copies(void)
{
    char command[2048];

    snprintf(command, sizeof command, "convert -q %s %s", in_folder("q.caffemodel"),
             in_folder("c.safetensors"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    check_floats("c.safetensors");
    snprintf(command, sizeof command, "convert -q --shard 1KiB %s %s", in_folder("q.caffemodel"),
             in_folder("s.safetensors"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    check_floats("s.safetensors.index.json");
    snprintf(command, sizeof command, "merge -o %s %s %s", in_folder("m.caffemodel"),
             in_folder("q.caffemodel"), in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    check_floats("m.caffemodel");
}

/*
 * Integers give the results of the weights that they stand for; of all layers with 8 bits, those of
 * the original weights, which a device with integers rounds itself.
 */
static void integers_are_the_rounded_weights(void)
{
    char command[2048];

    CU_ASSERT_EQUAL(quantize(pixels, with_pictures("--scale 0.01 --keep d --integers")), 0);
    run_picture("a.npz");
    check_copies();
    snprintf(command, sizeof command, "inspect %s", in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "c/0   I8_ROWS  8 3 3 3"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "d/0   F32 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "ip/0  I8_ROWS"));
    snprintf(command, sizeof command, "convert -q --dtype F32 %s %s", in_folder("q.caffemodel"),
             in_folder("w.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof command, "mv %s %s", in_folder("w.caffemodel"),
             in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(shell(command), 0);
    snprintf(command, sizeof command, "inspect %s", in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NULL(strstr(out, "I8_ROWS"));
    run_picture("b.npz");
    snprintf(command, sizeof command, "diff %s %s", in_folder("a.npz"), in_folder("b.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
}

/* The ratio of the output in the report; infinity without a difference. Counts layers in F32. */
static double ratio_of(const char *arguments, int *floats)
{
    json_t *document, *layers, *output;
    double ratio = INFINITY;

    CU_ASSERT_EQUAL(quantize(pixels, with_pictures(arguments)), 0);
    document = parse_output();
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(document, "inputs")), 2);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "blobs")), 4);
    layers = json_object_get(document, "layers");
    CU_ASSERT_EQUAL(json_array_size(layers), 3);
    *floats = 0;
    for (size_t i = 0; i < json_array_size(layers); i++)
        *floats += json_is_true(json_object_get(json_array_get(layers, i), "float"));
    output = json_array_get(json_object_get(document, "outputs"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(output, "name"), "y");
    if (json_is_number(json_object_get(output, "db")))
        ratio = json_number_value(json_object_get(output, "db"));
    json_decref(document);
    return ratio;
}

/*
 * A CPU that is faster with integers computes two layers with them, and x86 also the first one,
 * with three channels: the error is far from that of 24 bits. Other devices compute in F32.
 */
static void max_loss_keeps_inaccurate_layers_in_f32(void)
{
    int floats = 0;
    double ratio = ratio_of("--scale 0.01 --json", &floats);
    bool is_real = ratio > 100;

    CU_ASSERT_EQUAL(floats, 0);
    CU_ASSERT(is_real || (ratio > 20 && ratio < 60));
    CU_ASSERT(is_real || strcmp(ferry_test_backend(), "cpu") == 0);
    ratio = ratio_of("--scale 0.01 --json --max-loss 90", &floats);
    CU_ASSERT(ratio >= 90);
    CU_ASSERT(is_real ? floats == 0 : floats == 2 || floats == 3);
}

/*
 * The output is that of `b`, and a thousandth of that of `a`. `a` has the same input, and weights
 * that lose more when they are rounded, but hardly disturbs the output.
 */
static const char branches[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 50 dim: 100 } } }\n"
    "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param {\n"
    "  num_output: 50 weight_filler { type: 'gaussian' std: 1 } } }\n"
    "layer { name: 'b' type: 'InnerProduct' bottom: 'x' top: 'b' inner_product_param {\n"
    "  num_output: 50 weight_filler { type: 'uniform' min: -1 max: 1 } } }\n"
    "layer { name: 's' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'y' eltwise_param {\n"
    "  coeff: 0.001 coeff: 1 } }\n";

static void max_loss_chooses_the_layer_that_disturbs_the_output(void)
{
    const json_t *layers, *a, *b;
    json_t *document;
    double ratio;
    char command[1024];

    if (is_skipped())
        return;
    fill_evenly(0, 1);
    write_array("x.npy", "(500, 100)", values, COUNT);
    snprintf(command, sizeof command, "--calibrate x=%s --json --max-loss 70", in_folder("x.npy"));
    CU_ASSERT_EQUAL(quantize(branches, command), 0);
    document = parse_output();
    layers = json_object_get(document, "layers");
    a = json_array_get(layers, 0);
    b = json_array_get(layers, 1);
    ratio = json_number_value(
        json_object_get(json_array_get(json_object_get(document, "outputs"), 0), "db"));
    CU_ASSERT(json_number_value(json_object_get(a, "both_db")) <
              json_number_value(json_object_get(b, "both_db")));
    CU_ASSERT(!json_is_true(json_object_get(a, "float")));
    if (json_is_number(json_object_get(b, "alone_db"))) { /* the device has integers */
        CU_ASSERT(json_is_true(json_object_get(b, "float")));
        CU_ASSERT(json_number_value(json_object_get(b, "alone_db")) < 60);
        CU_ASSERT(json_number_value(json_object_get(a, "alone_db")) > 80);
        CU_ASSERT(ratio > 80 && ratio < 150);
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(document, "floats")), 1);
        CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(document, "float_part")), 0.5, 0);
    }
    json_decref(document);
}

/* Weights of 2 in one channel, and an input from -4 to 1. */
static void a_table_of_scales_has_the_format_of_ncnn(void)
{
    static const char one[] =
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 100 } } }\n"
        "layer { name: 'fc/1' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
        "  num_output: 2 weight_filler { type: 'constant' value: 2 } } }\n";
    char command[2048];

    if (is_skipped())
        return;
    fill_evenly(-4, 1);
    values[7] = -4;
    write_array("x.npy", "(500, 100)", values, COUNT);
    snprintf(command, sizeof command, "--calibrate x=%s --table %s", in_folder("x.npy"),
             in_folder("t.table"));
    CU_ASSERT_EQUAL(quantize(one, command), 0);
    slurp(in_folder("t.table"), out, sizeof out);
    CU_ASSERT_STRING_EQUAL(out, "fc/1_param_0 63.5 63.5 \nfc/1 31.75 \n");
    snprintf(command, sizeof command, "--from-table %s --text %s", in_folder("t.table"),
             in_folder("q.prototxt"));
    CU_ASSERT_EQUAL(quantize(one, command), 0);
    slurp(in_folder("q.prototxt"), out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "blob: \"x\"\n    min: -4\n    max: 4\n"));
    CU_ASSERT_PTR_NULL(strstr(out, "blob: \"y\""));
    write_text("t.table", "fc/1_param_0 1 1\nfc/1 nothing\n");
    CU_ASSERT_EQUAL(quantize(one, command), 1);
    CU_ASSERT(one_line_of_error("t.table:2: expected a layer and a scale above 0"));
    write_text("t.table", "fc/2 3\n");
    CU_ASSERT_EQUAL(quantize(one, command), 1);
    CU_ASSERT(one_line_of_error("names no layer of the net with weights"));
}

static const struct {
    const char *arguments, *message;
} errors[] = {
    { "", "expected a net, --output and --calibrate" },
    { "--calibrate /nowhere.npz", "/nowhere.npz" },
    { "--calibrate z=%s", "--calibrate: the net has no blob \"z\"" },
    { "--calibrate x=%s --method best", "--method best: expected minmax, percentile, kl or mse" },
    { "--calibrate x=%s --percentile 20", "expected a number from 50 to 100" },
    { "--calibrate x=%s --method kl --percentile 99", "--percentile requires" },
    { "--calibrate x=%s --keep nothing", "it has no layer \"nothing\"" },
    { "--calibrate x=%s --from-table t", "--from-table excludes --calibrate" },
    { "--calibrate x=%s --batch 0", "--batch" },
    { "--calibrate x=%s --max-loss no", "--max-loss no" },
};

static void errors_print_one_line(void)
{
    char command[1024];

    if (is_skipped())
        return;
    write_array("x.npy", "(500, 100)", values, COUNT);
    for (size_t i = 0; i < FERRY_TEST_COUNT(errors); i++) {
        snprintf(command, sizeof command, errors[i].arguments, in_folder("x.npy"));
        CU_ASSERT_NOT_EQUAL(quantize(rows, command), 0);
        CU_ASSERT(one_line_of_error(errors[i].message));
    }
    CU_ASSERT_EQUAL(quantize("layer { name: 'd' type: 'DummyData' top: 'x' dummy_data_param {\n"
                             "shape { dim: 1 } } } layer { name: 'y' type: 'ReLU' bottom: 'x'\n"
                             "top: 'y' }",
                             "--calibrate /nowhere.npz"),
                    1);
    CU_ASSERT(one_line_of_error("reads its own data"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(minmax_uses_the_extremes_of_all_batches),
    FERRY_TEST(percentile_excludes_half_of_the_remainder_at_each_end),
    FERRY_TEST(kl_excludes_an_outlier),
    FERRY_TEST(kl_keeps_an_even_distribution),
    FERRY_TEST(mse_finds_the_published_optima),
    FERRY_TEST(mse_keeps_an_even_distribution),
    FERRY_TEST(the_report_has_the_ratios_of_weights_and_inputs),
    FERRY_TEST(the_weights_are_those_of_the_net_with_ranges),
    FERRY_TEST(quantized_nets_run),
    FERRY_TEST(integers_are_the_rounded_weights),
    FERRY_TEST(max_loss_keeps_inaccurate_layers_in_f32),
    FERRY_TEST(max_loss_chooses_the_layer_that_disturbs_the_output),
    FERRY_TEST(a_table_of_scales_has_the_format_of_ncnn),
    FERRY_TEST(errors_print_one_line),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command quantize", cases, FERRY_TEST_COUNT(cases));
}
