/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* `ferry run`, mostly with pictures. */

/* A net that outputs its input, 9 x 13 pixels of three channels, and the sum of each. */
static const char net[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: 9 dim: 13\n"
    "  } } }\n"
    "layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' }\n"
    "layer { name: 's' type: 'Reduction' bottom: 'x' top: 's' reduction_param { axis: 1 } }\n";

/* Runs the net with these arguments, in which each %s is the folder of pictures. */
static int run(const char *arguments)
{
    char command[2048], filled[1024], folder[512];

    snprintf(folder, sizeof(folder), "%s", ferry_test_own_data("images/rgb.png"));
    *strrchr(folder, '/') = '\0';
    snprintf(filled, sizeof(filled), arguments, folder, folder);
    write_text("net.prototxt", net);
    snprintf(command, sizeof(command), "run %s %s", in_folder("net.prototxt"), filled);
    return ferry(command);
}

/* Value `index` of output `number` of a document. */
static double value(const json_t *document, size_t number, size_t index)
{
    const json_t *output = json_array_get(json_object_get(document, "outputs"), number);

    return json_number_value(json_array_get(json_object_get(output, "values"), index));
}

static void a_picture_is_read_as_an_input(void)
{
    json_t *document;

    /* the first pixel: red 0, green 0, blue 255; the one to its right has red 19 */
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --json"), 0);
    document = parse_output();
    CU_ASSERT_EQUAL(value(document, 1, 0), 255);
    CU_ASSERT_EQUAL(value(document, 1, 117), 0);
    CU_ASSERT_EQUAL(value(document, 1, 235), 19);
    json_decref(document);
    CU_ASSERT_EQUAL(run("--input %s/rgb.png --mean 5,0,9 --scale 2 --swap-rb --json"), 0);
    document = parse_output();
    CU_ASSERT_EQUAL(value(document, 1, 0), -18);
    CU_ASSERT_EQUAL(value(document, 1, 1), 20);
    CU_ASSERT_EQUAL(value(document, 1, 234), 500);
    json_decref(document);
}

static void a_mean_may_be_a_picture_of_values(void)
{
    char command[1024];
    json_t *document;

    snprintf(command, sizeof(command), "--input x=%%s/rgb.png --blobs y --output %s",
             in_folder("y.npz"));
    CU_ASSERT_EQUAL(run(command), 0);
    snprintf(command, sizeof(command), "--input x=%%s/rgb.png --mean %s --json",
             in_folder("y.npz"));
    CU_ASSERT_EQUAL(run(command), 0);
    document = parse_output();
    for (size_t i = 0; i < 351; i++)
        CU_ASSERT_EQUAL(value(document, 1, i), 0);
    json_decref(document);
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --mean %s/opencv.npz"), 1);
    CU_ASSERT(one_line_of_error("opencv.npz: has"));
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --mean 1,2"), 1);
    remove(in_folder("y.npz"));
}

/* A crop of 9 x 13 pixels to 9 x 9 has the middle pixels; a resize without cropping has all. */
static void a_crop_keeps_proportions(void)
{
    char command[1024];
    json_t *whole, *cropped;

    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --blobs y --json"), 0);
    whole = parse_output();
    snprintf(command, sizeof(command), "sed 's/dim: 13/dim: 9/' %s >%s", in_folder("net.prototxt"),
             in_folder("square.prototxt"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    for (int crop = 0; crop < 2; crop++) {
        int same = 0;

        snprintf(command, sizeof(command), "run %s --input x=%s --blobs y --json%s",
                 in_folder("square.prototxt"), ferry_test_own_data("images/rgb.png"),
                 crop ? " --crop" : "");
        CU_ASSERT_EQUAL(ferry(command), 0);
        cropped = parse_output();
        for (size_t i = 0; i < 243; i++)
            same += value(cropped, 0, i) == value(whole, 0, i / 9 * 13 + 2 + i % 9);
        CU_ASSERT_EQUAL(same == 243, crop);
        json_decref(cropped);
    }
    json_decref(whole);
}

static void an_invalid_input_prints_one_error_line(void)
{
    CU_ASSERT_EQUAL(run("--input nope=%s/rgb.png"), 1);
    CU_ASSERT(one_line_of_error("no blob \"nope\""));
    CU_ASSERT_EQUAL(run("--input x=%s/none.png"), 1);
    CU_ASSERT(one_line_of_error("none.png"));
    CU_ASSERT_EQUAL(run("--input s=%s/rgb.png"), 1);
    CU_ASSERT(one_line_of_error("layer \"s\" computes it"));
    CU_ASSERT_EQUAL(run("--input s=%s/rgb.png --blobs all"), 1);
    CU_ASSERT(one_line_of_error("layer \"s\" computes it"));
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --scale fast"), 2);
    CU_ASSERT(one_line_of_error("--scale fast"));
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --iterations 0"), 2);
    CU_ASSERT(one_line_of_error("--iterations 0"));
    CU_ASSERT_EQUAL(run("--input x=%s --batch 2 -o y.npz"), 2);
    CU_ASSERT(one_line_of_error("cannot be combined with another input"));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* A .npy of format 1.0: this dtype and shape, and that many bytes of zeros after it. */
static void write_npy(const char *name, const char *dtype, const char *shape, size_t bytes)
{
    FILE *file = fopen(in_folder(name), "wb");
    char header[119], text[119];

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    memset(header, ' ', sizeof(header));
    snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype,
             shape);
    memcpy(header, text, strlen(text));
    header[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(header, 1, 118, file);
    while (bytes-- > 0)
        putc(0, file);
    fclose(file);
}

/* Runs a net that convolves three channels on such an array. */
static int run_array(const char *dtype, const char *shape, size_t bytes)
{
    char command[1024];

    write_npy("x.npy", dtype, shape, bytes);
    write_text("c.prototxt",
               "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 dim: "
               "5 dim: 5 } } }\n"
               "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { "
               "num_output: 2 kernel_size: 3 } }\n");
    snprintf(command, sizeof(command), "run %s --input x=%s", in_folder("c.prototxt"),
             in_folder("x.npy"));
    return ferry(command);
}

/* Numbers are converted from any dtype; the shape must match, and the array must not be empty. */
static void an_array_of_another_dtype_or_shape_prints_one_error_line(void)
{
    static const struct {
        const char *dtype, *shape;
        size_t bytes;
        int status;
        const char *says;
    } arrays[] = {
        { "<f4", "2, 3, 4, 6", 576, 0, "y: 2 2 2 4 (32)" },
        { "<f8", "1, 3, 5, 5", 600, 0, "y: 1 2 3 3 (18)" },
        { "|u1", "1, 3, 5, 5", 75, 0, "y: 1 2 3 3 (18)" },
        { "<c8", "1, 3, 5, 5", 600, 1, "ferry has no such dtype" },
        { "<U1", "1, 3, 5, 5", 300, 1, "ferry has no such dtype" },
        { "<f4", "", 4, 1, "0 axes, not 4" },
        { "<f4", "5, 5", 100, 1, "2 axes, not 4" },
        { "<f4", "1, 1, 3, 5, 5", 300, 1, "5 axes, not 4" },
        { "<f4", "1, 1, 5, 5", 100, 1, "axis 1 of its weights is 3, must be 1" },
        { "<f4", "1, 3, 2, 5", 120, 1, "its kernel of 3 does not fit on 2 elements" },
        { "<f4", "0, 3, 5, 5", 0, 1, "the array is empty: 0 3 5 5" },
        { "<f4", "1, 3, 0, 5", 0, 1, "the array is empty: 1 3 0 5" },
        { "<f4", "1, 3, 5, 5", 299, 1, "x.npy" },
    };

    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        CU_ASSERT_EQUAL(run_array(arrays[i].dtype, arrays[i].shape, arrays[i].bytes),
                        arrays[i].status);
        CU_ASSERT(arrays[i].status ? one_line_of_error(arrays[i].says)
                                   : strstr(out, arrays[i].says) != NULL);
    }
}

/* An option has its effect, or is an error. */
static void options_without_effect_print_one_error_line(void)
{
    static const struct {
        const char *options;
        int status;
        const char *says;
    } odd[] = {
        { "--scale 3", 2, "--scale: none of the inputs is a picture" },
        { "--mean 1,2,3", 2, "--mean: none of the inputs is a picture" },
        { "--crop --swap-rb", 2, "--swap-rb: none of the inputs is a picture" },
        { "--blobs ''", 2, "does not name a blob" },
        { "--blobs ,,", 2, "does not name a blob" },
        { "--input x=x.npy", 2, "was given" },
        { "--batch 2", 1, "is not a text file: it has a byte of 0" },
        { "--labels /dev/zero", 1, "is a device, not a file" },
        { "--level 4294967296", 2, "--level 4294967296: expected a number from" },
        { "--level ''", 2, "--level : expected a number from" },
        { "--iterations 4294967297", 2, "a number from 1 to 1000000000" },
        { "--place 'absent=cpu'", 0, "\"absent\" is not the first match of any layer" },
    };

    run_array("<f4", "1, 3, 5, 5", 300);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char command[1024];

        snprintf(command, sizeof(command), "run %s --input x=%s %s", in_folder("c.prototxt"),
                 in_folder("x.npy"), odd[i].options);
        CU_ASSERT_EQUAL(ferry(command), odd[i].status);
        if (!strstr(err, odd[i].says))
            printf("     %s: %s", odd[i].options, err);
        CU_ASSERT(odd[i].status ? one_line_of_error(odd[i].says)
                                : strstr(err, odd[i].says) != NULL);
    }
}

/* A list may have lines of any length, and a file that is not text is refused. */
static void lists_may_have_lines_of_any_length(void)
{
    char command[8192], name[5001];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    write_text("net.prototxt", net);
    write_text("list.txt", name);
    snprintf(command, sizeof(command), "run %s --input x=%s", in_folder("net.prototxt"),
             in_folder("list.txt"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, name));
    CU_ASSERT_EQUAL(run("--input x=/dev/zero --batch 2"), 1);
    CU_ASSERT(one_line_of_error("is a device, not a file"));
}

/* Names are bytes; in JSON names that are not UTF-8 are escaped. */
static void layers_of_any_name_are_reported(void)
{
    json_t *document;
    char command[1024];

    write_npy("x.npy", "<f4", "2, ", 8);
    write_text("odd.prototxt",
               "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: 2 } } }\n"
               "layer { name: 'p\\377' type: 'Power' bottom: 'x' top: 'y' }\n");
    snprintf(command, sizeof(command), "run %s --input x=%s --report --json",
             in_folder("odd.prototxt"), in_folder("x.npy"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "layers")), 2);
    json_decref(document);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "p\\\\xff"));
}

/* The precision of the first layer "i" in the report of `ferry run` with these options; or "". */
static void find_precision(const char *options, char *found, size_t size)
{
    json_t *document, *one;
    char command[1024];
    size_t i;

    snprintf(command, sizeof(command), "run %s --input x=%s --report --json %s",
             in_folder("p.prototxt"), in_folder("x.npy"), options);
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    *found = '\0';
    json_array_foreach(json_object_get(document, "layers"), i, one)
        if (strcmp(json_string_value(json_object_get(one, "name")), "i") == 0)
            snprintf(found, size, "%s", json_string_value(json_object_get(one, "precision")));
    json_decref(document);
}

static void the_report_has_the_precision_of_layers(void)
{
    char found[16], plain[16];

    write_npy("x.npy", "<f4", "1, 64", 256);
    write_text("p.prototxt",
               "layer { name: 'd' type: 'Input' top: 'x'\n"
               "  input_param { shape { dim: 1 dim: 64 } } }\n"
               "layer { name: 'i' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { "
               "num_output: 32 } }\n");
    find_precision("", plain, sizeof(plain));
    CU_ASSERT_STRING_EQUAL(plain, "f32");
    find_precision("--precision f32", plain, sizeof(plain));
    CU_ASSERT_STRING_EQUAL(plain, "f32");
    find_precision("--precision bf16", found, sizeof(found));
    CU_ASSERT(strcmp(found, "bf16") == 0 || strcmp(found, "f32") == 0);
    setenv("FERRY_PRECISION", "bf16", 1);
    find_precision("", plain, sizeof(plain));
    CU_ASSERT_STRING_EQUAL(plain, found);
    find_precision("--precision f32", plain, sizeof(plain));
    CU_ASSERT_STRING_EQUAL(plain, "f32");
    unsetenv("FERRY_PRECISION");
    CU_ASSERT_EQUAL(run("--precision half"), 2);
    CU_ASSERT(one_line_of_error("--precision half: expected f32 or bf16"));
}

/*
 * Weights without a layer of this net are refused as those of another net; with some layers they
 * are accepted.
 */
static void weights_of_another_net_print_one_error_line(void)
{
    char command[1024];

    write_npy("x.npy", "<f4", "1, 3", 12);
    write_text(
        "a.prototxt",
        "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 3 } } }\n"
        "layer { name: 'a' type: 'InnerProduct' bottom: 'x' top: 'y' inner_product_param { "
        "num_output: 2 } }\n");
    snprintf(command, sizeof(command), "sed \"s/'a'/'b'/\" %s >%s", in_folder("a.prototxt"),
             in_folder("b.prototxt"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "run %s --input x=%s --blobs all --output %s",
             in_folder("a.prototxt"), in_folder("x.npy"), in_folder("a.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    snprintf(command, sizeof(command), "run %s %s --input x=%s", in_folder("b.prototxt"),
             in_folder("a.npz"), in_folder("x.npy"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "the layers of this net with parameters are \"b\"\n"));
    snprintf(command, sizeof(command), "run %s %s --input x=%s", in_folder("a.prototxt"),
             in_folder("a.npz"), in_folder("x.npy"));
    CU_ASSERT_EQUAL(ferry(command), 0);
}

/* Arrays can replace all tops of a data layer; its files then need not exist. */
static void an_input_replaces_a_data_layer(void)
{
    char command[1024];

    write_text("d.prototxt",
               "name: 'it\\'s' state { phase: TEST }\n"
               "layer { name: 'd' type: 'HDF5Data' top: 'x' top: 't' include { phase: TEST } "
               "hdf5_data_param { source: '/none/list' batch_size: 2 } }\n"
               "layer { name: 'p' type: 'Power' bottom: 'x' top: 'y' power_param { shift: 7 } }\n"
               "layer { name: 's' type: 'Silence' bottom: 't' }\n");
    write_npy("x.npy", "<f4", "4, 3", 48);
    write_npy("t.npy", "<f4", "4, ", 16);
    snprintf(command, sizeof(command), "run %s --input x=%s --input t=%s", in_folder("d.prototxt"),
             in_folder("x.npy"), in_folder("t.npy"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "y: 4 3 (12), from 7 to 7"));
    snprintf(command, sizeof(command), "run %s --input x=%s", in_folder("d.prototxt"),
             in_folder("x.npy"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT(one_line_of_error("also makes \"t\", which must be given too"));
    snprintf(command, sizeof(command), "run %s --input y=%s", in_folder("d.prototxt"),
             in_folder("x.npy"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT(one_line_of_error("/none/list"));
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* Blobs that are not written to a file are shown, and no others. */
static void selected_blobs_are_printed_if_no_file_is_given(void)
{
    json_t *document, *outputs;

    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --blobs x,s"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "x: 1 3 9 13 (351), from "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "s: 1 (1) "));
    CU_ASSERT_PTR_NULL(strstr(out, "y: "));
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --blobs all"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "x: 1 3 9 13 (351), from "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "y: 1 3 9 13 (351), from "));
    CU_ASSERT_EQUAL(run("--input x=%s/rgb.png --blobs x --json"), 0);
    document = parse_output();
    outputs = json_object_get(document, "outputs");
    CU_ASSERT_EQUAL_FATAL(json_array_size(outputs), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(outputs, 0), "name")),
                           "x");
    json_decref(document);
}

/* Lines of JSON on standard output; counts those with `key`. */
static int lines_with(const char *key)
{
    char copy[sizeof(out)], *rest = copy, *line;
    int n = 0;

    snprintf(copy, sizeof(copy), "%s", out);
    while ((line = strtok_r(rest, "\n", &rest))) {
        json_t *one = json_loads(line, 0, NULL);

        CU_ASSERT_PTR_NOT_NULL(one);
        n += json_object_get(one, key) != NULL;
        json_decref(one);
    }
    return n;
}

static void each_file_of_a_folder_is_read_and_a_bad_file_prints_one_error_line(void)
{
    char command[1024];

    snprintf(command, sizeof(command), "mkdir -p %s && cp %s %s", in_folder("p"),
             ferry_test_own_data("images/rgb.png"), in_folder("p"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command),
             "cd %s && cp rgb.png b.png && head -c 99 rgb.png >c.png && "
             "cp rgb.png d.jpg && touch e.txt",
             in_folder("p"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    write_text("net.prototxt", net);
    for (int batch = 1; batch <= 4; batch++) {
        snprintf(command, sizeof(command), "run %s --input x=%s --batch %d",
                 in_folder("net.prototxt"), in_folder("p"), batch);
        CU_ASSERT_EQUAL(ferry(command), 1);
        CU_ASSERT_EQUAL(lines_with("file"), 4);
        CU_ASSERT_EQUAL(lines_with("error"), 1);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "c.png: PNG: "));
    }
    snprintf(command, sizeof(command),
             "cd %s && printf '%%s\\n' \"$PWD/b.png\" \"$PWD/rgb.png 7\" "
             ">list.txt",
             in_folder("p"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "run %s --input x=%s/list.txt", in_folder("net.prototxt"),
             in_folder("p"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_EQUAL(lines_with("outputs"), 2);
    snprintf(command, sizeof(command), "printf '\\n  \\t\\n%%s/b.png 7  \\n' \"%s\" >%s",
             in_folder("p"), in_folder("p/list.txt"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "run %s --input x=%s/list.txt", in_folder("net.prototxt"),
             in_folder("p"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    CU_ASSERT_EQUAL(lines_with("outputs"), 1);
    snprintf(command, sizeof(command), "rm -r %s", in_folder("p"));
    shell(command);
}

/* A folder is for one input; another input cannot get values at the same time. */
static void a_folder_is_refused_if_another_input_has_no_values(void)
{
    char command[1024];

    write_text("two.prototxt",
               "layer { name: 'in' type: 'Input' top: 'x' top: 'w' input_param { shape { dim: 1 "
               "dim: 3 dim: 9 dim: 13 } shape { dim: 1 } } }\n"
               "layer { name: 'y' type: 'Reduction' bottom: 'x' top: 's' }\n"
               "layer { name: 'z' type: 'Silence' bottom: 'w' }\n");
    snprintf(command, sizeof(command), "run %s --input x=%s", in_folder("two.prototxt"),
             ferry_test_own_data("images/rgb.png"));
    *strrchr(command, '/') = '\0';
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "has no values; the inputs are: x 1 3 9 13 (351), w 1 (1)"));
}

static void outputs_of_several_passes_are_concatenated_in_the_file(void)
{
    json_t *document;
    char command[512];

    snprintf(command, sizeof(command), "--input x=%%s/rgb.png --iterations 3 --output %s",
             in_folder("o.npz"));
    CU_ASSERT_EQUAL(run(command), 0);
    snprintf(command, sizeof(command), "inspect %s --json", in_folder("o.npz"));
    CU_ASSERT_EQUAL(ferry(command), 0);
    document = parse_output();
    for (size_t i = 0; i < json_array_size(json_object_get(document, "blobs")); i++) {
        json_t *blob = json_array_get(json_object_get(document, "blobs"), i);
        json_t *shape = json_object_get(blob, "shape");

        CU_ASSERT_EQUAL(json_integer_value(json_array_get(shape, 0)), 3);
    }
    CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "blobs")), 2);
    json_decref(document);
    remove(in_folder("o.npz"));
}

/* ---- killed ---------------------------------------------------------------------------------- */

/* Starts `ferry run` of the net with an output of some megabytes, in a process of its own. */
static pid_t start_run(const char *output)
{
    const char *command = getenv("FERRY_TEST_COMMAND");
    char to[512], definition[512];
    pid_t child;

    snprintf(to, sizeof(to), "%s", in_folder(output));
    snprintf(definition, sizeof(definition), "%s", in_folder("large.prototxt"));
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);

        setenv("FERRY_BACKEND", ferry_test_backend(), 1);
        dup2(null, 1);
        dup2(null, 2);
        execl(command, command, "run", definition, "--iterations", "3", "--output", to,
              (char *)NULL);
        _exit(127);
    }
    return child;
}

static long milliseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

/*
 * The number of files in the case's folder, except hidden temporary ones: those of HDF5, and all if
 * the file system lacks unnamed files.
 */
static int files(void)
{
    char command[512];

    snprintf(command, sizeof(command), "ls -A $(dirname %s) | grep -vc '^[.].*[.]tmp$'",
             in_folder("o"));
    shell(command);
    return atoi(out);
}

/* Whether the file is the previous one, or a complete new one. */
static bool is_old_or_whole(const char *name, bool *out_new)
{
    char command[512], head[4] = "";
    FILE *file = fopen(in_folder(name), "r");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    *out_new = fread(head, 1, 3, file) != 3 || memcmp(head, "old", 3) != 0;
    fclose(file);
    snprintf(command, sizeof(command), "inspect %s", in_folder(name));
    return !*out_new || ferry(command) == 0;
}

/* Killed at any time it leaves the previous file, or the complete new one, and no other file. */
static void killed_it_leaves_a_whole_file_or_the_one_before(const char *output)
{
    long began = milliseconds(), whole;
    char command[512];
    int status, before, news = 0, i;
    pid_t child = start_run(output);

    waitpid(child, &status, 0);
    whole = milliseconds() - began;
    CU_ASSERT_FATAL(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    before = files();
    for (i = 0; i <= 8; i++) {
        long wait = whole * i / 8;
        struct timespec t = { wait / 1000, wait % 1000 * 1000000 };
        bool is_new = false;

        write_text(output, "old\n");
        child = start_run(output);
        nanosleep(&t, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        CU_ASSERT(is_old_or_whole(output, &is_new));
        CU_ASSERT_EQUAL(files(), before);
        news += is_new;
    }
    CU_ASSERT(news < 9); /* some were killed before their end */
    remove(in_folder(output));
    snprintf(command, sizeof(command), "rm -f $(dirname %s)/.*.tmp", in_folder("o"));
    shell(command);
}

static void a_killed_run_leaves_no_partial_file(void)
{
    char command[1024];

    if (strcmp(ferry_test_backend(), "cpu") || ferry_test_is_slow()) {
        ferry_test_skip("cpu only: all devices write files in the same way; not under a sanitizer");
        return;
    }
    write_text(
        "large.prototxt",
        "layer { name: 'in' type: 'DummyData' top: 'x' dummy_data_param { shape { dim: 4 dim: "
        "3 dim: 200 dim: 200 } } }\n"
        "layer { name: 'y' type: 'Power' bottom: 'x' top: 'y' power_param { shift: 1 } }\n");
    killed_it_leaves_a_whole_file_or_the_one_before("k.npz");
    snprintf(command, sizeof(command), "run %s --output %s", in_folder("large.prototxt"),
             in_folder("k.h5"));
    if (ferry(command) == 0) /* there is HDF5 */
        killed_it_leaves_a_whole_file_or_the_one_before("k.h5");
    remove(in_folder("large.prototxt"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(a_picture_is_read_as_an_input),
    FERRY_TEST(a_mean_may_be_a_picture_of_values),
    FERRY_TEST(a_crop_keeps_proportions),
    FERRY_TEST(an_invalid_input_prints_one_error_line),
    FERRY_TEST(an_array_of_another_dtype_or_shape_prints_one_error_line),
    FERRY_TEST(options_without_effect_print_one_error_line),
    FERRY_TEST(lists_may_have_lines_of_any_length),
    FERRY_TEST(layers_of_any_name_are_reported),
    FERRY_TEST(the_report_has_the_precision_of_layers),
    FERRY_TEST(weights_of_another_net_print_one_error_line),
    FERRY_TEST(an_input_replaces_a_data_layer),
    FERRY_TEST(selected_blobs_are_printed_if_no_file_is_given),
    FERRY_TEST(each_file_of_a_folder_is_read_and_a_bad_file_prints_one_error_line),
    FERRY_TEST(a_folder_is_refused_if_another_input_has_no_values),
    FERRY_TEST(outputs_of_several_passes_are_concatenated_in_the_file),
    FERRY_TEST(a_killed_run_leaves_no_partial_file),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command run", cases, FERRY_TEST_COUNT(cases));
}
