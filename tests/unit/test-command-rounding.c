/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * `ferry quantize --adaptive-rounding`: its weights compared with the best ones of all
 * combinations, and its report with the outputs of the net.
 */

#define ITEMS   300
#define INPUTS  6
#define OUTPUTS 4
#define LEVELS  127

static const char rows[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 50 dim: 6 } } }\n"
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param {\n"
    "  num_output: 4 bias_term: false weight_filler { type: 'uniform' min: -1 max: 1 } } }\n";

/* Windows of each property, in two groups. */
static const char windows[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 dim: 4 dim: 9 dim: 8 } "
    "} }\n"
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: 6\n"
    "  bias_term: false group: 2 kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 1 pad_h: 1 pad_w: "
    "2\n"
    "  dilation: 2 dilation: 1 weight_filler { type: 'uniform' min: -1 max: 1 } } }\n";

static float x[ITEMS * INPUTS];

/* Values that have most of their sum in common. */
static void fill(float *to, int items, int each)
{
    srand(7);
    for (int i = 0; i < items; i++) {
        float common = (float)rand() / (float)RAND_MAX;

        for (int k = 0; k < each; k++)
            to[i * each + k] = common + 0.2f * (float)rand() / (float)RAND_MAX;
    }
}

/* Reads the first array of a file, by a copy as safetensors. */
static void read_array(const char *name, float *to, size_t count)
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
    CU_ASSERT_EQUAL(fread(to, sizeof *to, count, file), count);
    fclose(file);
}

/* Quantizes the net into the file `to`, with weights of the first file if there is one. */
static void quantize(const char *weights, const char *to, const char *more)
{
    char command[2048];

    snprintf(command, sizeof command, "quantize %s %s -o %s --calibrate x=%s -q %s",
             in_folder("net.prototxt"), weights ? in_folder(weights) : "", in_folder(to),
             in_folder("x.npy"), more);
    CU_ASSERT_EQUAL_FATAL(ferry(command), 0);
}

/* The ratios of the first layer in the report. */
static void read_ratios(double *nearest, double *chosen)
{
    json_t *document = parse_output();
    const json_t *layer = json_array_get(json_object_get(document, "layers"), 0);

    *nearest = json_number_value(json_object_get(layer, "nearest_db"));
    *chosen = json_number_value(json_object_get(layer, "chosen_db"));
    json_decref(document);
}

static bool is_skipped(void)
{
    if (strcmp(ferry_test_backend(), "cpu") == 0)
        return false;
    ferry_test_skip("the weights are the same for all devices");
    return true;
}

/* ---- all combinations ------------------------------------------------------------------------ */

/* The squares of an output's errors for these differences of weights. */
static double squares_of(const double *d)
{
    double sum = 0;

    for (int i = 0; i < ITEMS; i++) {
        double error = 0;

        for (int k = 0; k < INPUTS; k++)
            error += d[k] * (double)x[i * INPUTS + k];
        sum += error * error;
    }
    return sum;
}

/* The least squares with weights within 1.5 levels, by trying all; the greatest weight stays. */
static double least(const float *w, double step)
{
    double best = INFINITY;

    for (int code = 0; code < 729; code++) {
        double d[INPUTS];

        for (int k = 0, rest = code; k < INPUTS; k++, rest /= 3) {
            double level = rint((double)w[k] / step);

            level += fabs(level) < LEVELS ? rest % 3 - 1 : 0;
            d[k] = level * step - (double)w[k];
        }
        best = fmin(best, squares_of(d));
    }
    return best;
}

static void weights_are_nearly_the_best_of_all(void)
{
    float was[OUTPUTS * INPUTS], is[OUTPUTS * INPUTS];
    double nearest, chosen, sums[3] = { 0 };

    if (is_skipped())
        return;
    fill(x, ITEMS, INPUTS);
    write_text("net.prototxt", rows);
    write_array("x.npy", "(300, 6)", x, ITEMS * INPUTS);
    quantize(NULL, "plain.caffemodel", "");
    quantize("plain.caffemodel", "q.caffemodel", "--adaptive-rounding --json");
    read_ratios(&nearest, &chosen);
    read_array("plain.caffemodel", was, OUTPUTS * INPUTS);
    read_array("q.caffemodel", is, OUTPUTS * INPUTS);
    for (int o = 0; o < OUTPUTS; o++) {
        const float *w = was + o * INPUTS, *r = is + o * INPUTS;
        double most = 0, to_nearest[INPUTS], d[INPUTS];

        for (int k = 0; k < INPUTS; k++)
            most = fmax(most, fabs((double)w[k]));
        for (int k = 0; k < INPUTS; k++) {
            double level = (double)r[k] / (most / LEVELS);

            CU_ASSERT(fabs(level - rint(level)) < 1e-4 && fabs(level) < LEVELS + 0.5);
            CU_ASSERT(fabs((double)w[k]) < most || fabs(level) > LEVELS - 0.5);
            to_nearest[k] = rint((double)w[k] / (most / LEVELS)) * most / LEVELS - (double)w[k];
            d[k] = (double)r[k] - (double)w[k];
        }
        sums[0] += squares_of(d);
        sums[1] += squares_of(to_nearest);
        sums[2] += least(w, most / LEVELS);
    }
    CU_ASSERT(sums[0] <= 1.2 * sums[2]);
    CU_ASSERT(sums[1] > 3 * sums[0]);
    CU_ASSERT(fabs(chosen - nearest - 10 * log10(sums[1] / sums[0])) < 0.1);
}

/* ---- windows --------------------------------------------------------------------------------- */

#define PIXELS  (5 * 4 * 9 * 8)
#define RESULTS (5 * 6 * 4 * 11)

/* The output of the net in F32 with these weights. */
static void run(const char *weights, float *to)
{
    char command[2048];

    snprintf(command, sizeof command, "run %s %s --float --input x=%s -o %s",
             in_folder("net.prototxt"), in_folder(weights), in_folder("x.npy"), in_folder("y.npz"));
    CU_ASSERT_EQUAL_FATAL(ferry(command), 0);
    read_array("y.npz", to, RESULTS);
}

/* The ratio in the report is that of the outputs, which windows and groups that differ change. */
static void the_report_has_the_ratio_of_the_outputs(void)
{
    static float pixels[PIXELS], real[RESULTS], got[RESULTS];
    double nearest, chosen, power = 0, noise = 0;

    if (is_skipped())
        return;
    fill(pixels, PIXELS / 8, 8);
    write_text("net.prototxt", windows);
    write_array("x.npy", "(5, 4, 9, 8)", pixels, PIXELS);
    quantize(NULL, "plain.caffemodel", "");
    quantize("plain.caffemodel", "q.caffemodel", "--adaptive-rounding --json");
    read_ratios(&nearest, &chosen);
    CU_ASSERT(chosen > nearest + 3);
    run("plain.caffemodel", real);
    run("q.caffemodel", got);
    for (int i = 0; i < RESULTS; i++) {
        power += (double)real[i] * (double)real[i];
        noise += ((double)real[i] - (double)got[i]) * ((double)real[i] - (double)got[i]);
    }
    CU_ASSERT(fabs(chosen - 10 * log10(power / noise)) < 0.05);
}

/* ---- other inputs ---------------------------------------------------------------------------- */

/* Items with values that are not finite are left out; without others it rounds to nearest. */
static void values_that_are_not_finite_are_left_out(void)
{
    float is[OUTPUTS * INPUTS], again[OUTPUTS * INPUTS];

    if (is_skipped())
        return;
    fill(x, ITEMS, INPUTS);
    write_text("net.prototxt", rows);
    write_array("x.npy", "(300, 6)", x, ITEMS * INPUTS);
    quantize(NULL, "plain.caffemodel", "");
    write_array("x.npy", "(299, 6)", x + INPUTS, (ITEMS - 1) * INPUTS);
    quantize("plain.caffemodel", "q.caffemodel", "--adaptive-rounding");
    read_array("q.caffemodel", is, OUTPUTS * INPUTS);
    x[3] = NAN;
    x[4] = INFINITY;
    write_array("x.npy", "(300, 6)", x, ITEMS * INPUTS);
    quantize("plain.caffemodel", "q.caffemodel", "--adaptive-rounding");
    read_array("q.caffemodel", again, OUTPUTS * INPUTS);
    CU_ASSERT_EQUAL(memcmp(is, again, sizeof is), 0);
    for (int i = 0; i < ITEMS * INPUTS; i++)
        x[i] = i % INPUTS ? 0 : NAN;
    write_array("x.npy", "(300, 6)", x, ITEMS * INPUTS);
    quantize("plain.caffemodel", "q.caffemodel", "--adaptive-rounding");
    read_array("q.caffemodel", again, OUTPUTS * INPUTS);
    for (int i = 0; i < OUTPUTS * INPUTS; i++)
        CU_ASSERT(isfinite(again[i]) && fabsf(again[i]) <= 1);
}

static void options_that_exclude_it_are_one_line(void)
{
    char command[2048];

    if (is_skipped())
        return;
    write_text("net.prototxt", rows);
    snprintf(command, sizeof command,
             "quantize %s -o %s --calibrate x.npy --adaptive-rounding --correct-bias",
             in_folder("net.prototxt"), in_folder("q.caffemodel"));
    CU_ASSERT_EQUAL(ferry(command), 2);
    CU_ASSERT(one_line_of_error("--correct-bias excludes --adaptive-rounding"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(weights_are_nearly_the_best_of_all),
    FERRY_TEST(the_report_has_the_ratio_of_the_outputs),
    FERRY_TEST(values_that_are_not_finite_are_left_out),
    FERRY_TEST(options_that_exclude_it_are_one_line),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command quantize rounding", cases, FERRY_TEST_COUNT(cases));
}
