/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `ferry time`, `draw` and `layers`. */

static const char net[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8\n"
    "  } } }\n"
    "layer { name: 'a \"b\"' type: 'Convolution' bottom: 'x' top: 'c' convolution_param {\n"
    "  num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } } }\n"
    "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }\n"
    "layer { name: 'most' type: 'ArgMax' bottom: 'c' top: 'y' }\n"
    "layer { name: 'train' type: 'Silence' bottom: 'c' include { phase: TRAIN } }\n"
    "layer { name: 'deep' type: 'Silence' bottom: 'c' include { min_level: 2 } }\n"
    "layer { name: 'staged' type: 'Silence' bottom: 'c' include { stage: 'one' stage: 'two' } }\n";

/* Runs a subcommand on the net, followed by further arguments. */
static int on_net(const char *command, const char *arguments)
{
    FILE *file = fopen(in_folder("net.prototxt"), "w");
    char line[1024];

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(net, file);
    fclose(file);
    snprintf(line, sizeof(line), "%s %s %s", command, in_folder("net.prototxt"), arguments);
    return ferry(line);
}

/* The layer of that name in a document; ends the case if there is none. */
static json_t *layer_of(const json_t *document, const char *key, const char *name)
{
    json_t *layer, *found = NULL;
    size_t i;

    json_array_foreach(json_object_get(document, "layers"), i,
                       layer) if (strcmp(text_of(layer, key), name) == 0) found = layer;
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

static double number(const json_t *object, const char *key)
{
    CU_ASSERT(json_is_number(json_object_get(object, key)));
    return json_number_value(json_object_get(object, key));
}

static void time_has_a_line_for_each_layer_and_they_sum_up(void)
{
    double sum = 0, shares = 0, bytes = 0;
    json_t *document, *layer;
    size_t i;

    CU_ASSERT_EQUAL(on_net("time", "--iterations 3 --json"), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        sum += number(layer, "ms");
        shares += number(layer, "share");
        bytes += number(layer, "bytes_accessed");
    }
    CU_ASSERT(number(document, "ms") > 0 && number(document, "ms_best") <= number(document, "ms"));
    CU_ASSERT(sum > 0.999 * number(document, "ms_layers") &&
              sum < 1.001 * number(document, "ms_layers"));
    CU_ASSERT(shares > 99.9 && shares < 100.1);
    CU_ASSERT_DOUBLE_EQUAL(number(document, "bytes_accessed"), bytes, 0.5);
    layer = layer_of(document, "name", "a \"b\"");
    CU_ASSERT(number(layer, "ms") > 0 && number(layer, "gflops") > 0);
    CU_ASSERT(number(layer, "bytes_accessed") > 0);
    CU_ASSERT_STRING_EQUAL(text_of(layer_of(document, "name", "most"), "tier"), "host");
    json_decref(document);
    CU_ASSERT_EQUAL(on_net("time", "-n 1"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "GFLOP/s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "GB/s"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\noperands of a pass: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "; 1 passes"));
}

/* NetStateRules are evaluated by every command that opens a net. */
static void the_net_state_selects_layers(void)
{
    static const struct {
        const char *options, *layer;
    } states[] = {
        { "", NULL },
        { "--phase TRAIN", "\"train\"" },
        { "--level 2", "\"deep\"" },
        { "--level=1", NULL },
        { "--stage one --stage=two", "\"staged\"" },
        { "--stage two", NULL },
    };

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        char options[200], drawn[8192];

        snprintf(options, sizeof(options), "-n 1 --json %s", states[i].options);
        CU_ASSERT_EQUAL(on_net("time", options), 0);
        for (const char *const *name =
                 (const char *[]){ "\"train\"", "\"deep\"", "\"staged\"", NULL };
             *name; name++)
            CU_ASSERT_EQUAL(strstr(out, *name) != NULL,
                            states[i].layer && !strcmp(*name, states[i].layer));
        snprintf(options, sizeof(options), "%s -o %s", states[i].options, in_folder("s.dot"));
        CU_ASSERT_EQUAL(on_net("draw", options), 0);
        slurp(in_folder("s.dot"), drawn, sizeof(drawn));
        CU_ASSERT_EQUAL(strstr(drawn, "deep") != NULL,
                        states[i].layer && !strcmp("\"deep\"", states[i].layer));
    }
}

static void invalid_arguments_of_time_print_one_error_line(void)
{
    CU_ASSERT_EQUAL(ferry("time"), 2);
    CU_ASSERT(one_line_of_error("expected a net"));
    CU_ASSERT_EQUAL(ferry("time /nowhere.prototxt"), 1);
    CU_ASSERT(one_line_of_error("/nowhere.prototxt"));
    CU_ASSERT_EQUAL(on_net("time", "--iterations none"), 2);
    CU_ASSERT(one_line_of_error("--iterations none"));
}

static void time_runs_streams_at_once(void)
{
    json_t *document, *streams, *stream;
    size_t i;

    CU_ASSERT_EQUAL(on_net("time", "--iterations 4 --streams 3 --json"), 0);
    document = parse_output();
    streams = json_object_get(document, "streams");
    CU_ASSERT_EQUAL(json_array_size(streams), 3);
    json_array_foreach(streams, i, stream)
    {
        CU_ASSERT(number(stream, "ms_median") > 0);
        CU_ASSERT(number(stream, "ms_median") <= number(stream, "ms_worst"));
    }
    CU_ASSERT(number(document, "items_per_second") > 0);
    CU_ASSERT(number(document, "threads_per_stream") >= 0);
    json_decref(document);
    CU_ASSERT_EQUAL(on_net("time", "-n 1 --json"), 0);
    document = parse_output();
    CU_ASSERT_PTR_NULL(json_object_get(document, "streams"));
    json_decref(document);
    CU_ASSERT_EQUAL(on_net("time", "-n 2 --streams 2"), 0);
    CU_ASSERT_EQUAL(on_net("time", "--streams 0"), 2);
    CU_ASSERT(one_line_of_error("--streams 0"));
    CU_ASSERT_EQUAL(on_net("time", "--streams 257"), 2);
    CU_ASSERT(one_line_of_error("--streams 257"));
    CU_ASSERT_EQUAL(on_net("time", "--streams 2 --backward"), 2);
    CU_ASSERT(one_line_of_error("--streams"));
}

static void time_counts_the_work_of_threads(void)
{
    bool cpu = !strcmp(ferry_test_backend(), "cpu");
    json_t *document, *work;

    CU_ASSERT_EQUAL(on_net("time", "-n 2 --work --json"), cpu ? 0 : 1);
    if (!cpu) {
        CU_ASSERT(one_line_of_error("--work"));
        return;
    }
    document = parse_output();
    work = json_object_get(document, "work");
    CU_ASSERT(number(work, "speed_up") >= 0.5);
    CU_ASSERT(number(work, "ms") >= 0);
    CU_ASSERT(number(work, "ms_in_loops") <= number(work, "ms"));
    CU_ASSERT(number(work, "ms_of_slowest") <= number(work, "ms_in_loops"));
    CU_ASSERT(number(work, "loops") <= number(work, "tasks"));
    json_decref(document);
    CU_ASSERT_EQUAL(on_net("time", "-n 2 --work"), 0);
}

static const char statistics[] =
    "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 } } }\n"
    "layer { name: 'bn' type: 'BatchNorm' bottom: 'x' top: 'y' batch_norm_param {\n"
    "  use_global_stats: false } }\n";

static void streams_of_a_net_that_writes_parameters_are_refused(void)
{
    FILE *file = fopen(in_folder("s.prototxt"), "w");
    char line[1024];

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(statistics, file);
    fclose(file);
    snprintf(line, sizeof line, "time %s --streams 2", in_folder("s.prototxt"));
    CU_ASSERT_EQUAL(ferry(line), 1);
    CU_ASSERT(one_line_of_error("writes parameters"));
}

static void a_drawing_has_layers_shapes_and_quotes(void)
{
    char arguments[300], dot[8192];

    snprintf(arguments, sizeof(arguments), "-o %s", in_folder("n.dot"));
    CU_ASSERT_EQUAL(on_net("draw", arguments), 0);
    slurp(in_folder("n.dot"), dot, sizeof(dot));
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "digraph net {"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(dot, "a \\\"b\\\"\\nConvolution\\nnum_output: 4, kernel_size: 3"));
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "layer0 -> layer1 [label=\"x\\n2 x 3 x 8 x 8\"]"));
    /* in place: ArgMax has the ReLU's output */
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "layer2 -> layer3"));
    CU_ASSERT_PTR_NULL(strstr(dot, "layer1 -> layer3"));
    CU_ASSERT_PTR_NULL(strstr(dot, "train"));
    snprintf(arguments, sizeof(arguments), "-o %s --phase TRAIN", in_folder("n.dot"));
    CU_ASSERT_EQUAL(on_net("draw", arguments), 0);
    slurp(in_folder("n.dot"), dot, sizeof(dot));
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "train"));
    remove(in_folder("n.dot"));
}

/*
 * The Split of "x" is not in the text: both consumers are beside the blob's producer. A solver's
 * text names the net to draw.
 */
static void draw_shows_the_layers_of_the_text_without_splits(void)
{
    static char dot[8192];
    char line[600];

    snprintf(
        line, sizeof(line),
        "cd %s && printf '%%s' 'layer { name: \"i\" type: \"Input\" top: \"x\" input_param { "
        "shape { dim: 2 } } } layer { name: \"a\" type: \"ReLU\" bottom: \"x\" top: \"a\" } layer "
        "{ name: \"b\" type: \"TanH\" bottom: \"x\" top: \"b\" }' >two.prototxt && "
        "\"$FERRY_TEST_COMMAND\" draw two.prototxt -o n.dot",
        in_folder(""));
    CU_ASSERT_EQUAL(shell(line), 0);
    slurp(in_folder("n.dot"), dot, sizeof(dot));
    CU_ASSERT_PTR_NULL(strstr(dot, "plit"));
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "layer0 -> layer2 [label=\"x\\n2\"]"));
    CU_ASSERT_PTR_NOT_NULL(strstr(dot, "layer0 -> layer3 [label=\"x\\n2\"]"));
    snprintf(line, sizeof(line),
             "cd %s && echo 'net: \"two.prototxt\" base_lr: 1' >solver.prototxt && "
             "\"$FERRY_TEST_COMMAND\" draw solver.prototxt -o n.dot",
             in_folder(""));
    CU_ASSERT_EQUAL(shell(line), 2);
    CU_ASSERT(one_line_of_error("draw its net, two.prototxt"));
    remove(in_folder("n.dot"));
}

static void draw_reports_wrong_outputs_and_failures_of_dot(void)
{
    char arguments[600];

    CU_ASSERT_EQUAL(on_net("draw", ""), 2);
    CU_ASSERT(one_line_of_error("-o FILE"));
    CU_ASSERT_EQUAL(on_net("draw", "-o n.pdf"), 2);
    CU_ASSERT(one_line_of_error("a .svg, a .png or a .dot"));
    CU_ASSERT_EQUAL(on_net("draw", "-o /nowhere/n.dot"), 1);
    CU_ASSERT(one_line_of_error("/nowhere/n.dot"));
    /* a dot that only copies, one that fails, and no dot */
    snprintf(arguments, sizeof(arguments),
             "mkdir -p %s && printf '#!/bin/sh\\ncp \"$4\" \"$3\"\\n' >%s/dot && chmod +x %s/dot",
             in_folder("bin"), in_folder("bin"), in_folder("bin"));
    CU_ASSERT_EQUAL_FATAL(shell(arguments), 0);
    on_net("draw", "-o n.pdf");
    snprintf(arguments, sizeof(arguments),
             "PATH=%s:$PATH \"$FERRY_TEST_COMMAND\" draw %s -o %s && grep -q digraph %s",
             in_folder("bin"), in_folder("net.prototxt"), in_folder("n.svg"), in_folder("n.svg"));
    CU_ASSERT_EQUAL(shell(arguments), 0);
    snprintf(arguments, sizeof(arguments),
             "cd %s && PATH=%s:$PATH \"$FERRY_TEST_COMMAND\" draw net.prototxt -o n.png && "
             "grep -q digraph n.png && rm n.png",
             in_folder(""), in_folder("bin"));
    CU_ASSERT_EQUAL(shell(arguments), 0);
    snprintf(arguments, sizeof(arguments),
             "rm %s && ln -sf /bin/false %s/dot && PATH=%s:$PATH \"$FERRY_TEST_COMMAND\" draw %s",
             in_folder("n.svg"), in_folder("bin"), in_folder("bin"), in_folder("net.prototxt"));
    strncat(arguments, " -o n.svg", sizeof(arguments) - strlen(arguments) - 1);
    CU_ASSERT_EQUAL(shell(arguments), 1);
    CU_ASSERT(one_line_of_error("dot failed"));
    snprintf(arguments, sizeof(arguments), "rm -r %s; test ! -e n.svg.tmp.dot", in_folder("bin"));
    CU_ASSERT_EQUAL(shell(arguments), 0);
}

static void layers_are_listed_with_their_parameters_and_tiers(void)
{
    json_t *document, *layer, *parameter;
    size_t i, seen = 0;

    CU_ASSERT_EQUAL(ferry("layers --json"), 0);
    document = parse_output();
    CU_ASSERT(json_array_size(json_object_get(document, "layers")) > 60);
    CU_ASSERT_STRING_EQUAL(text_of(layer_of(document, "type", "ArgMax"), "tier"), "host");
    layer = layer_of(document, "type", "Pooling");
    CU_ASSERT(strcmp(text_of(layer, "tier"), "-") != 0);
    json_array_foreach(json_object_get(layer, "parameters"), i, parameter)
    {
        if (strcmp(text_of(parameter, "name"), "stride") == 0) {
            CU_ASSERT_STRING_EQUAL(text_of(parameter, "default"), "1");
            CU_ASSERT_STRING_EQUAL(text_of(parameter, "kind"), "uint32");
            seen++;
        }
        if (strcmp(text_of(parameter, "name"), "pool") == 0) {
            CU_ASSERT_STRING_EQUAL(text_of(parameter, "default"), "MAX");
            seen++;
        }
        if (strcmp(text_of(parameter, "name"), "ceil_mode") == 0) {
            CU_ASSERT_STRING_EQUAL(text_of(parameter, "fork"), "OpenCV");
            seen++;
        }
    }
    CU_ASSERT_EQUAL(seen, 3);
    json_decref(document);
    CU_ASSERT_EQUAL(ferry("layers Eltwise"), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "bottoms: 2 or more, tops: 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "stable_prod_grad"));
    CU_ASSERT_EQUAL(ferry("layers Convolutoin"), 1);
    CU_ASSERT(one_line_of_error("did you mean \"Convolution\"?"));
}

/* An example can be made of every type except those that need a file. */
static void every_type_has_an_example(void)
{
    json_t *document, *layer;
    size_t i;

    CU_ASSERT_EQUAL(ferry("layers --json"), 0);
    document = parse_output();
    json_array_foreach(json_object_get(document, "layers"), i, layer)
    {
        const char *type = text_of(layer, "type");

        if (strcmp(text_of(layer, "tier"), "-") == 0 && strncmp(type, "HDF5", 4) != 0 &&
            !strstr("Data ImageData WindowData", type)) {
            printf("     %s\n", type);
            CU_FAIL("a type without a tier");
        }
    }
    json_decref(document);
}

/* The example's shared object, and its net. */
#define ACME     "\"$FERRY_TEST_BUILDDIR\"/examples/.libs/acme_layers.so"
#define ACME_NET "\"$FERRY_TEST_SRCDIR\"/examples/acme.prototxt"

static void layers_are_loaded_from_a_shared_object(void)
{
    json_t *document, *output;

    CU_ASSERT_EQUAL(ferry("run --json --layers " ACME " " ACME_NET), 0);
    document = parse_output();
    output = json_array_get(json_object_get(document, "outputs"), 0);
    CU_ASSERT_EQUAL(number(output, "count"), 3);
    CU_ASSERT_EQUAL(json_number_value(json_array_get(json_object_get(output, "values"), 2)), 2.5);
    json_decref(document);
    CU_ASSERT_EQUAL(ferry("layers AcmeClamp --layers " ACME), 0);
    CU_ASSERT_EQUAL(ferry("layers AcmeClamp"), 1);
    CU_ASSERT_EQUAL(ferry("run " ACME_NET), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err, "no type \"AcmeClamp\""));
}

static void plugins_conf_loads_shared_objects_of_layers(void)
{
    char command[1024];

    snprintf(command, sizeof(command), "printf '[layers]\nlibrary = %%s\n' " ACME " >%s",
             in_folder("l.conf"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "FERRY_CONF=%s \"$FERRY_TEST_COMMAND\" run " ACME_NET,
             in_folder("l.conf"));
    CU_ASSERT_EQUAL(shell(command), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "2.5 2.5 2.5"));
    snprintf(command, sizeof(command), "printf '[layers]\nlibrary = acme.so\n' >%s",
             in_folder("l.conf"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "FERRY_CONF=%s \"$FERRY_TEST_COMMAND\" run " ACME_NET,
             in_folder("l.conf"));
    CU_ASSERT_EQUAL(shell(command), 1);
    CU_ASSERT(one_line_of_error("library = acme.so: absolute paths"));
    remove(in_folder("l.conf"));
}

static void a_shared_object_of_layers_is_checked_like_a_plugin(void)
{
    char command[1024];

    CU_ASSERT_EQUAL(ferry("run --layers /nowhere.so " ACME_NET), 1);
    CU_ASSERT(one_line_of_error("/nowhere.so"));
    CU_ASSERT_EQUAL(ferry("run --layers " ACME_NET " " ACME_NET), 1);
    CU_ASSERT(one_line_of_error("no ELF header"));
    CU_ASSERT_EQUAL(
        ferry("run --layers \"$FERRY_TEST_BUILDDIR\"/backends/.libs/ferry_sim.so " ACME_NET), 1);
    CU_ASSERT(one_line_of_error("does not export ferry_layers"));
    snprintf(command, sizeof(command), "cp " ACME " %s && chmod o+w %s", in_folder("l.so"),
             in_folder("l.so"));
    CU_ASSERT_EQUAL_FATAL(shell(command), 0);
    snprintf(command, sizeof(command), "run --layers %s " ACME_NET, in_folder("l.so"));
    CU_ASSERT_EQUAL(ferry(command), 1);
    CU_ASSERT(one_line_of_error("can be written by every user"));
    remove(in_folder("l.so"));
}

static const ferry_test_case cases[] = {
    FERRY_TEST(time_has_a_line_for_each_layer_and_they_sum_up),
    FERRY_TEST(the_net_state_selects_layers),
    FERRY_TEST(invalid_arguments_of_time_print_one_error_line),
    FERRY_TEST(time_runs_streams_at_once),
    FERRY_TEST(time_counts_the_work_of_threads),
    FERRY_TEST(streams_of_a_net_that_writes_parameters_are_refused),
    FERRY_TEST(a_drawing_has_layers_shapes_and_quotes),
    FERRY_TEST(draw_shows_the_layers_of_the_text_without_splits),
    FERRY_TEST(draw_reports_wrong_outputs_and_failures_of_dot),
    FERRY_TEST(layers_are_listed_with_their_parameters_and_tiers),
    FERRY_TEST(every_type_has_an_example),
    FERRY_TEST(layers_are_loaded_from_a_shared_object),
    FERRY_TEST(plugins_conf_loads_shared_objects_of_layers),
    FERRY_TEST(a_shared_object_of_layers_is_checked_like_a_plugin),
};

int main(int argc, char **argv)
{
    return command_main(argc, argv, "command net", cases, FERRY_TEST_COUNT(cases));
}
