/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry quantize --equalize` and `--correct-bias`. */

#define ROWS    20
#define COLUMNS 100

static float values[ROWS * COLUMNS];

/*
 * Channels of c pass through a pooling to convolutions with groups; two writers meet in a sum, two
 * in a concatenation; an inner product reads 2 x 2 values of each channel. The readers of s and of
 * its sigmoid fix it.
 */
static const char net[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape {\n"
    "  dim: 2 dim: 2 dim: 5 dim: 5 } } }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { num_output: 6\n"
    "  kernel_size: 1 bias_filler { type: 'uniform' min: -1 }\n"
    "  weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' relu_param { negative_slope: 0.1 } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { kernel_size: 2\n"
    "  stride: 2 pool: AVE } }\n"
    "layer { name: 'd' type: 'Convolution' bottom: 'p' top: 'd' convolution_param { num_output: 6\n"
    "  group: 6 kernel_size: 3 pad: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'g' type: 'Convolution' bottom: 'p' top: 'g' convolution_param { num_output: 6\n"
    "  group: 3 kernel_size: 1 bias_term: false weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'k' type: 'Scale' bottom: 'g' top: 'k' scale_param { bias_term: true\n"
    "  filler { type: 'uniform' min: -1 } bias_filler { type: 'uniform' min: -1 } } }\n"
    "layer { name: 'e' type: 'Eltwise' bottom: 'd' bottom: 'k' top: 'e' }\n"
    "layer { name: 'q' type: 'PReLU' bottom: 'e' top: 'e' }\n"
    "layer { name: 's' type: 'Convolution' bottom: 'p' top: 's' convolution_param { num_output: 2\n"
    "  kernel_size: 1 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'sig' type: 'Sigmoid' bottom: 's' top: 'sig' }\n"
    "layer { name: 'j' type: 'Concat' bottom: 'e' bottom: 's' bottom: 'sig' top: 'j' }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'j' top: 'ip' inner_product_param {\n"
    "  num_output: 4 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'y' type: 'InnerProduct' bottom: 'ip' top: 'y' inner_product_param {\n"
    "  num_output: 3 weight_filler { type: 'xavier' } } }\n";

static const char row[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 7 dim: 100 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 2 bias_term: %s weight_filler { type: 'constant' value: 2 } } }\n";

/* Writes the values as an array of ROWS x COLUMNS, or ROWS x 2 x 5 x 5 with its first values. */
static void write_values(const char *name, bool is_picture)
{
    write_array(name, is_picture ? "(20, 2, 5, 5)" : "(20, 100)", values,
                is_picture ? ROWS * 50 : ROWS * COLUMNS);
}

/* Runs `ferry quantize NET first.caffemodel -o OUT --calibrate x.npy` with further arguments. */
static int quantize(const char *to, const char *arguments)
{
    char command[2048];

    snprintf(command, sizeof command, "quantize %s %s -o %s --calibrate x=%s %s",
             in_folder("net.prototxt"), in_folder("first.caffemodel"), in_folder(to),
             in_folder("x.npy"), arguments);
    return ferry(command);
}

/* Writes a net, its weights as first.caffemodel, and the values. */
static void begin(const char *text, bool is_picture)
{
    char command[2048];

    write_text("net.prototxt", text);
    write_values("x.npy", is_picture);
    snprintf(command, sizeof command, "quantize %s -o %s --calibrate x=%s",
             in_folder("net.prototxt"), in_folder("first.caffemodel"), in_folder("x.npy"));
    CU_ASSERT_EQUAL_FATAL(ferry(command), 0);
}

/* Runs a net in F32 on x.npy. */
static void run(const char *model, const char *to)
{
    char command[2048];

    snprintf(command, sizeof command, "run %s %s --input x=%s --float -o %s",
             in_folder("net.prototxt"), in_folder(model), in_folder("x.npy"), in_folder(to));
    CU_ASSERT_EQUAL(ferry(command), 0);
}

static int diff(const char *a, const char *b, const char *more)
{
    char command[1024];

    snprintf(command, sizeof command, "diff %s %s %s", in_folder(a), in_folder(b), more);
    return ferry(command);
}

static void equalisation_does_not_change_the_function_in_f32(void)
{
    json_t *document;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)sin(i * 1.7) * (float)(1 + i % 7);
    begin(net, true);
    CU_ASSERT_EQUAL(quantize("e.caffemodel", "--equalize --json"), 0);
    document = parse_output();
    CU_ASSERT(json_integer_value(json_object_get(document, "equalized")) >= 9);
    json_decref(document);
    run("first.caffemodel", "a.npz");
    run("e.caffemodel", "b.npz");
    CU_ASSERT_EQUAL(diff("first.caffemodel", "e.caffemodel", ""), 1); /* other weights */
    CU_ASSERT_EQUAL(diff("a.npz", "b.npz", "--tolerance 1e-5"), 0);
}

/* ---- the exponent ---------------------------------------------------------------------------- */

#define CHANNELS 4

static const char chain[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 7 dim: 100 } } }\n"
    "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'a' inner_product_param {\n"
    "  num_output: 4 bias_term: false weight_filler { type: 'uniform' min: -1 max: 1 } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }\n"
    "layer { name: 'y' type: 'InnerProduct' bottom: 'a' top: 'y' inner_product_param {\n"
    "  num_output: 3 bias_term: false weight_filler { type: 'uniform' min: -1 max: 1 } } }\n";

/* Reads the weights of `a`, the first array of the file. */
static void read_weights(const char *name, float *to)
{
    char command[1024];
    uint64_t header = 0;
    FILE *file;

    snprintf(command, sizeof command, "convert %s %s", in_folder(name),
             in_folder("read.safetensors"));
    CU_ASSERT_EQUAL_FATAL(ferry(command), 0);
    file = fopen(in_folder("read.safetensors"), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fread(&header, sizeof header, 1, file), 1);
    CU_ASSERT_EQUAL(fseek(file, (long)header, SEEK_CUR), 0);
    CU_ASSERT_EQUAL(fread(to, sizeof *to, CHANNELS * COLUMNS, file), CHANNELS * COLUMNS);
    fclose(file);
}

/* The largest value of a channel of `a` for all rows. */
static double most_of(const float *w)
{
    double most = 0;

    for (int i = 0; i < ROWS; i++) {
        double sum = 0;

        for (int k = 0; k < COLUMNS; k++)
            sum += (double)w[k] * (double)values[i * COLUMNS + k];
        most = fmax(most, sum);
    }
    return most;
}

static void factors_are_powers_of_the_parts_of_a_range(void)
{
    static const double exponents[] = { 0, 0.5, 0.75, 1 };
    float was[CHANNELS * COLUMNS], is[CHANNELS * COLUMNS];

    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)sin(i * 1.7);
    begin(chain, false);
    read_weights("first.caffemodel", was);
    for (size_t e = 0; e < sizeof exponents / sizeof *exponents; e++) {
        char arguments[64];
        double most = 0;

        snprintf(arguments, sizeof arguments, "--migration %g", exponents[e]);
        CU_ASSERT_EQUAL(quantize("e.caffemodel", arguments), 0);
        read_weights("e.caffemodel", is);
        for (int o = 0; o < CHANNELS; o++)
            most = fmax(most, most_of(was + (ptrdiff_t)o * COLUMNS));
        for (int o = 0; o < CHANNELS; o++) {
            double part = most_of(was + (ptrdiff_t)o * COLUMNS) / most;
            double factor = (double)was[o * COLUMNS] / (double)is[o * COLUMNS];

            CU_ASSERT_DOUBLE_EQUAL(factor, pow(part, exponents[e]), 1e-5);
        }
    }
    CU_ASSERT_EQUAL(quantize("e.caffemodel", "--migration 1.5"), 2);
    CU_ASSERT(one_line_of_error("--migration 1.5: expected a number from 0 to 1"));
}

/* ---- layers that are left alone -------------------------------------------------------------- */

/* Two branches with the same parameters, whose readers would choose other factors. */
static const char twins[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape {\n"
    "  dim: 2 dim: 2 dim: 5 dim: 5 } } }\n"
    "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'a' param { name: 'w' }\n"
    "  param { name: 'b' } convolution_param { num_output: 4 kernel_size: 1\n"
    "  weight_filler { type: 'xavier' } bias_filler { type: 'uniform' } } }\n"
    "layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' pooling_param { kernel_size: 2 } }\n"
    "layer { name: 'b' type: 'Convolution' bottom: 'p' top: 'b' param { name: 'w' }\n"
    "  param { name: 'b' } convolution_param { num_output: 4 kernel_size: 1 } }\n"
    "layer { name: 'c' type: 'InnerProduct' bottom: 'a' top: 'c' inner_product_param {\n"
    "  num_output: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'd' type: 'InnerProduct' bottom: 'b' top: 'd' inner_product_param {\n"
    "  num_output: 3 weight_filler { type: 'xavier' } } }\n";

static void shared_parameters_are_left_alone(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)sin(i * 1.7) * (float)(1 + i % 7);
    begin(twins, true);
    CU_ASSERT_EQUAL(quantize("e.caffemodel", "--equalize --correct-bias"), 0);
    run("first.caffemodel", "a.npz");
    run("e.caffemodel", "b.npz");
    CU_ASSERT_EQUAL(diff("a.npz", "b.npz", "--tolerance 0.05"), 0);
    CU_ASSERT_EQUAL(quantize("e.caffemodel", "--equalize"), 0);
    run("e.caffemodel", "b.npz");
    CU_ASSERT_EQUAL(diff("a.npz", "b.npz", "--tolerance 1e-5"), 0);
}

/* The output of `ip` is not along axis 1, which has more elements than the bias. */
static void other_axes_are_not_corrected(void)
{
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = i % 50 ? (float)((i * 37 % 250 + 0.25) / 255) : 1;
    begin("layer { name: 'in' type: 'Input' top: 'x' input_param { shape {\n"
          "  dim: 2 dim: 2 dim: 5 dim: 5 } } }\n"
          "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
          "  axis: 3 num_output: 1 weight_filler { type: 'constant' value: 2 } } }\n",
          true);
    CU_ASSERT_EQUAL(quantize("b.caffemodel", "--correct-bias"), 0);
    CU_ASSERT_EQUAL(diff("first.caffemodel", "b.caffemodel", ""), 0);
}

static void a_correction_excludes_a_limit_of_loss(void)
{
    CU_ASSERT_EQUAL(quantize("b.caffemodel", "--correct-bias --max-loss 30"), 2);
    CU_ASSERT(one_line_of_error("--correct-bias excludes --max-loss"));
}

/* The bias of `ip`: the output for an input of zeros. */
static double bias_of(const char *model)
{
    char command[2048];
    json_t *document;
    double bias;

    memset(values, 0, sizeof values);
    write_values("zeros.npy", false);
    snprintf(command, sizeof command, "run %s %s --input x=%s --float --json",
             in_folder("net.prototxt"), in_folder(model), in_folder("zeros.npy"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    bias = json_number_value(json_array_get(
        json_object_get(json_array_get(json_object_get(document, "outputs"), 0), "values"), 0));
    json_decref(document);
    return bias;
}

/*
 * Each input but the first is 0.25 of a step above a level, and each weight is 2: the output is
 * 99 * 0.25 * 2 steps too small.
 */
static void bias_correction_subtracts_the_mean_error(void)
{
    char text[1024];

    for (int k = 0; k < 2; k++) {
        const json_t *layer;
        json_t *document;

        for (int i = 0; i < ROWS * COLUMNS; i++)
            values[i] = i % COLUMNS ? (float)((i * 37 % 250 + 0.25) / 255) : 1;
        snprintf(text, sizeof text, row, k ? "false" : "true");
        begin(text, false);
        CU_ASSERT_EQUAL(quantize("b.caffemodel", "--correct-bias --json"), 0);
        document = parse_output();
        layer = json_array_get(json_object_get(document, "layers"), 0);
        CU_ASSERT_EQUAL(json_is_true(json_object_get(layer, "corrected")), !k);
        CU_ASSERT(json_is_number(json_object_get(layer, "mean_db")));
        json_decref(document);
        CU_ASSERT_DOUBLE_EQUAL(bias_of("first.caffemodel"), 0, 0);
        CU_ASSERT_DOUBLE_EQUAL(bias_of("b.caffemodel"), k ? 0 : 99 * 0.25 * 2 / 255, 1e-4);
    }
}

static void layers_in_f32_are_not_corrected(void)
{
    char text[1024];

    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = i % COLUMNS ? (float)((i * 37 % 250 + 0.25) / 255) : 1;
    snprintf(text, sizeof text, row, "true");
    begin(text, false);
    CU_ASSERT_EQUAL(quantize("b.caffemodel", "--correct-bias --keep ip"), 0);
    CU_ASSERT_DOUBLE_EQUAL(bias_of("b.caffemodel"), 0, 0);
}

static void a_table_excludes_both(void)
{
    char command[1024];

    for (int k = 0; k < 2; k++) {
        snprintf(command, sizeof command, "quantize %s -o %s --from-table t %s",
                 in_folder("net.prototxt"), in_folder("b.caffemodel"),
                 k ? "--equalize" : "--correct-bias");
        CU_ASSERT_EQUAL(ferry(command), 2);
        CU_ASSERT(one_line_of_error("--from-table excludes"));
    }
}

static const ferry_test_case cases[] = {
    FERRY_TEST(equalisation_does_not_change_the_function_in_f32),
    FERRY_TEST(factors_are_powers_of_the_parts_of_a_range),
    FERRY_TEST(shared_parameters_are_left_alone),
    FERRY_TEST(bias_correction_subtracts_the_mean_error),
    FERRY_TEST(other_axes_are_not_corrected),
    FERRY_TEST(a_correction_excludes_a_limit_of_loss),
    FERRY_TEST(layers_in_f32_are_not_corrected),
    FERRY_TEST(a_table_excludes_both),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command equalize", cases, FERRY_TEST_COUNT(cases));
}
