/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "files.h"
#include "net.h"
#include "streams.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* `ferry time`: measures the time of a net and of each of its layers. */

struct timing {
    const struct tool_command *self;
    const char *iterations, *count; /* count: the text of --streams */
    bool json, backward, on_device;
    bool divided; /* a layer runs by sub-batches */
    int64_t n;
    double best, mean;      /* the time of a pass in ms, in which layers may overlap */
    double sum;             /* the sum of the layers' times, each measured alone */
    double device_sum;      /* that sum on the device's clock */
    double flops, bytes;    /* the sums of both passes of the layers */
    struct streams streams; /* of 0: not requested */
    bool counts_work;
    struct work work;
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/*
 * Fills inputs without values with numbers between 0 and 1, on which a layer's time depends least.
 */
static int fill_inputs(ferry_net *net)
{
    for (int i = 0; i < ferry_net_input_count(net); i++) {
        ferry_blob *b = ferry_net_input_at(net, i);
        float *values = ferry_blob_overwrite_host_data(b);
        uint32_t state = 1;

        if (!values && ferry_blob_element_count(b) > 0)
            return tool_ferry_error();
        for (int64_t k = 0; k < ferry_blob_element_count(b); k++) {
            state = state * 1664525u + 1013904223u;
            values[k] = (float)(state >> 8) / (float)(1 << 24);
        }
    }
    return TOOL_OK;
}

static int pass(const struct timing *t, ferry_net *net)
{
    return ferry_net_forward(net, NULL) || (t->backward && ferry_net_backward(net)) ||
                   ferry_device_synchronize(ferry_net_device(net))
               ? tool_ferry_error()
               : TOOL_OK;
}

/*
 * Runs one pass to warm up, then the measured passes, then as many with each layer measured alone.
 */
static int measure(struct timing *t, ferry_net *net)
{
    struct progress progress = { .quiet = false };
    int status = pass(t, net);

    progress_begin(&progress, "computing", "passes", 2 * (uint64_t)t->n);
    for (int64_t i = 0; status == TOOL_OK && i < t->n; i++) {
        double begin = now_ms(), ms;

        status = pass(t, net);
        ms = now_ms() - begin;
        t->mean += ms / (double)t->n;
        t->best = i == 0 || ms < t->best ? ms : t->best;
        progress_step(&progress, 1);
    }
    if (status == TOOL_OK && ferry_net_set_measuring(net, t->on_device ? FERRY_NET_MEASURE_DEVICE
                                                                       : FERRY_NET_MEASURE_HOST))
        status = tool_ferry_error();
    for (int64_t i = 0; status == TOOL_OK && i < t->n; i++) {
        status = pass(t, net);
        progress_step(&progress, 1);
    }
    progress_end(&progress);
    return status;
}

/* ---- showing --------------------------------------------------------------------------------- */

/* The tier of a layer that computes something; otherwise whether it is fused or only a view. */
static const char *tier_of(const ferry_net_layer_info *info)
{
    if (info->segment)
        return "segment";
    return info->operations || info->tier == FERRY_TIER_HOST ? ferry_operation_tier_name(info->tier)
                                                             : "-";
}

static double share_of(const struct timing *t, const ferry_net_layer_info *info)
{
    return t->sum > 0 ? 100 * (info->ms + info->backward_ms) / t->sum : 0;
}

/* 10⁹ per second: of multiplications and additions, or of bytes. */
static double giga_of(double count, double ms)
{
    return ms > 0 ? count / ms * 1e-6 : 0;
}

static json_t *json_layer(const struct timing *t, const ferry_net_layer_info *info)
{
    json_t *layer = json_pack(
        "{s:o, s:s, s:s, s:s, s:f, s:f, s:I, s:f, s:f}", "name", tool_json_string(info->name),
        "type", info->type, "device", info->device, "tier", tier_of(info), "ms", info->ms, "share",
        share_of(t, info), "bytes_moved", (json_int_t)info->bytes_moved, "gflops",
        giga_of(info->flops, info->ms), "bytes_accessed", info->bytes_accessed);

    if (layer && *info->precision)
        json_object_set_new(layer, "precision", json_string(info->precision));
    if (layer && info->sub_batch)
        json_object_set_new(layer, "sub_batch", json_integer(info->sub_batch));
    if (layer && t->on_device)
        json_object_set_new(layer, "device_ms",
                            json_real(info->device_ms + info->backward_device_ms));
    if (layer && t->backward && info->needs_backward)
        json_object_set_new(
            layer, "backward",
            json_pack("{s:s, s:f, s:I, s:f, s:f, s:s}", "tier",
                      ferry_operation_tier_name(info->backward_tier), "ms", info->backward_ms,
                      "bytes_moved", (json_int_t)info->backward_bytes_moved, "gflops",
                      giga_of(info->backward_flops, info->backward_ms), "bytes_accessed",
                      info->backward_bytes_accessed, "precision", info->backward_precision));
    return layer;
}

static void put_streams(const struct timing *t, json_t *whole)
{
    json_t *streams = json_array();

    for (int i = 0; i < t->streams.count; i++)
        json_array_append_new(streams,
                              json_pack("{s:f, s:f}", "ms_median", t->streams.stream[i].median,
                                        "ms_worst", t->streams.stream[i].worst));
    json_object_set_new(whole, "streams", streams);
    json_object_set_new(whole, "items_per_second", json_real(t->streams.items_per_second));
    json_object_set_new(whole, "threads_per_stream", json_integer(t->streams.threads));
}

static void put_work(const struct work *w, json_t *whole)
{
    json_object_set_new(whole, "work",
                        json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:f}", "threads", (int)w->threads,
                                  "loops", w->loops, "tasks", w->tasks, "ms", w->ms, "ms_in_loops",
                                  w->ms_in_loops, "ms_of_slowest", w->ms_of_slowest, "speed_up",
                                  work_speed_up(w)));
}

static int show_json(const struct timing *t, const ferry_net *net)
{
    json_t *layers = json_array();

    for (int i = 0; layers && i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        if (!ferry_net_get_layer_info(net, i, &info))
            json_array_append_new(layers, json_layer(t, &info));
    }
    json_t *whole =
        json_pack("{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:o}", "device",
                  ferry_device_name(ferry_net_device(net)), "iterations", (json_int_t)t->n, "ms",
                  t->mean, "ms_best", t->best, "ms_layers", t->sum, "flops", t->flops,
                  "bytes_accessed", t->bytes, "layers", layers);

    if (whole && t->on_device)
        json_object_set_new(whole, "ms_device", json_real(t->device_sum));
    if (whole && t->streams.count)
        put_streams(t, whole);
    if (whole && t->counts_work)
        put_work(&t->work, whole);
    return tool_json_print(whole);
}

/* The maximum number of columns of the table, which depends on the options. */
#define MOST_COLUMNS 14

struct columns {
    const char *at[MOST_COLUMNS];
    int n;
};

static void put(struct columns *c, bool wanted, const char *text)
{
    if (wanted)
        c->at[c->n++] = text;
}

static void put_titles(struct columns *c, const struct timing *t)
{
    static const char *const first[] = { "layer", "type", "device", "tier", ">ms" };

    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        put(c, true, first[i]);
    put(c, t->backward, "backward");
    put(c, t->backward, ">ms");
    put(c, t->on_device, ">device ms");
    put(c, true, ">share");
    put(c, true, ">moved");
    put(c, true, ">GFLOP/s");
    put(c, true, ">GB/s");
    put(c, true, "precision");
    put(c, t->divided, ">sub-batch");
}

/* The precision of a layer's products: of both passes if they differ, "-" without one. */
static const char *precision_of(const struct timing *t, const ferry_net_layer_info *info,
                                char *both, size_t size)
{
    if (!t->backward || !*info->backward_precision ||
        !strcmp(info->precision, info->backward_precision))
        return *info->precision ? info->precision : "-";
    snprintf(both, size, "%s, %s", info->precision, info->backward_precision);
    return both;
}

/* Adds a row; device time, bytes and operations are those of both passes. */
static bool show_layer(const struct timing *t, struct tool_table *table,
                       const ferry_net_layer_info *info)
{
    const char *back = info->backward_operations || info->backward_tier == FERRY_TIER_HOST
                           ? ferry_operation_tier_name(info->backward_tier)
                           : "-";
    double flops = info->flops + info->backward_flops, both_ms = info->ms + info->backward_ms;
    double bytes = info->bytes_accessed + info->backward_bytes_accessed;
    char ms[32], back_ms[32], device_ms[32], share[32], moved[32], both[32], images[32];
    char gflops[32] = "", gbytes[32] = "";
    struct columns c = { { info->name, info->type, info->device, tier_of(info), ms }, 5 };

    snprintf(ms, sizeof ms, "%.3f", info->ms);
    snprintf(back_ms, sizeof back_ms, "%.3f", info->backward_ms);
    snprintf(device_ms, sizeof device_ms, "%.3f", info->device_ms + info->backward_device_ms);
    snprintf(share, sizeof share, "%.1f %%", share_of(t, info));
    tool_bytes(info->bytes_moved + info->backward_bytes_moved, moved, sizeof moved);
    if (flops > 0)
        snprintf(gflops, sizeof gflops, "%.1f", giga_of(flops, both_ms));
    if (bytes > 0)
        snprintf(gbytes, sizeof gbytes, "%.1f", giga_of(bytes, both_ms));
    put(&c, t->backward, back);
    put(&c, t->backward, back_ms);
    put(&c, t->on_device, device_ms);
    put(&c, true, share);
    put(&c, true, moved);
    put(&c, true, gflops);
    put(&c, true, gbytes);
    put(&c, true, precision_of(t, info, both, sizeof both));
    snprintf(images, sizeof images, info->sub_batch ? "%lld" : "-", (long long)info->sub_batch);
    put(&c, t->divided, images);
    return tool_table_add(table, c.at);
}

static void show_sums(const struct timing *t, const ferry_net *net)
{
    tool_printf("%s: %.3f ms a pass (best %.3f), %.3f with each layer measured alone",
                ferry_device_name(ferry_net_device(net)), t->mean, t->best, t->sum);
    if (t->on_device)
        tool_printf(", of these %.3f on the device's clock", t->device_sum);
    tool_printf("; %lld passes\n", (long long)t->n);
    if (t->bytes > 0)
        tool_printf("operands of a pass: %.1f MB, %.1f GB/s; %.1f operations a byte\n",
                    t->bytes * 1e-6, giga_of(t->bytes, t->mean), t->flops / t->bytes);
}

static void show_streams(const struct timing *t, const ferry_net *net)
{
    const struct streams *s = &t->streams;
    double alone = t->mean > 0 ? 1e3 * (double)streams_items(net) / t->mean : 0;

    if (!s->count)
        return;
    tool_printf("%d stream%s", s->count, s->count == 1 ? "" : "s");
    if (s->threads)
        tool_printf(" of at most %u thread%s each", s->threads, s->threads == 1 ? "" : "s");
    tool_printf(": %.1f items a second; %.1f by one net at a time\n", s->items_per_second, alone);
    for (int i = 0; i < s->count; i++)
        tool_printf("stream %d: median %.3f ms a pass, worst %.3f\n", i + 1, s->stream[i].median,
                    s->stream[i].worst);
}

static void show_work(const struct work *w)
{
    double even = w->threads > 0 ? w->ms_in_loops / w->threads : 0;

    tool_printf("work for %u thread%s: %.0f shared loops a pass with %.0f tasks; %.1f %% of the "
                "work is in them; the slowest threads have %.2f of the mean; speed-up at most "
                "%.2f\n",
                w->threads, w->threads == 1 ? "" : "s", w->loops, w->tasks,
                w->ms > 0 ? 100 * w->ms_in_loops / w->ms : 0,
                even > 0 ? w->ms_of_slowest / even : 1, work_speed_up(w));
}

static int show(const struct timing *t, const ferry_net *net)
{
    struct columns titles = { { NULL }, 0 };
    struct tool_table *table;
    bool good;

    put_titles(&titles, t);
    table = tool_table_create(titles.at, titles.n);
    good = table != NULL;
    for (int i = 0; good && i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        good = ferry_net_get_layer_info(net, i, &info) || show_layer(t, table, &info);
    }
    if (good)
        tool_table_print(table, tool_width());
    tool_table_destroy(table);
    show_sums(t, net);
    show_streams(t, net);
    if (t->counts_work)
        show_work(&t->work);
    return good ? TOOL_OK : tool_error(TOOL_FAILURE, "out of memory");
}

/* Adds up the layers' times, operations and bytes. */
static void sum_up(struct timing *t, const ferry_net *net)
{
    for (int i = 0; i < ferry_net_layer_count(net); i++) {
        ferry_net_layer_info info = { .struct_size = sizeof info };

        if (ferry_net_get_layer_info(net, i, &info))
            continue;
        t->divided |= info.sub_batch > 0;
        t->sum += info.ms + info.backward_ms;
        t->device_sum += info.device_ms + info.backward_device_ms;
        t->flops += info.flops + info.backward_flops;
        t->bytes += info.bytes_accessed + info.backward_bytes_accessed;
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run(struct timing *t, const struct net_request *r, const struct net_list *inputs)
{
    struct net_pictures pictures = { 0 };
    ferry_runtime *rt = NULL;
    ferry_net *net = NULL;
    int status = net_open(r, &rt, &net);

    if (status != TOOL_OK)
        return status;
    status = pictures_begin(t->self, &pictures, ferry_net_device(net));
    if (status == TOOL_OK)
        status = fill_inputs(net);
    if (status == TOOL_OK)
        status = net_feed(net, inputs, &pictures);
    if (status == TOOL_OK && t->streams.count)
        status = streams_run(r, net, &t->streams);
    if (status == TOOL_OK && t->counts_work)
        status = work_count(t->self, net, t->n, &t->work);
    if (status == TOOL_OK)
        status = measure(t, net);
    if (status == TOOL_OK)
        sum_up(t, net);
    if (status == TOOL_OK)
        status = t->json ? show_json(t, net) : show(t, net);
    pictures_end(&pictures);
    free(t->streams.stream);
    ferry_net_close(net);
    ferry_runtime_close(rt);
    return status;
}

/* Reads the numbers of passes and streams. */
static int read_numbers(struct timing *t)
{
    int64_t count = 0;
    int status = tool_parse_number(t->self, "--iterations", t->iterations, 1, 1000000, &t->n);

    if (status == TOOL_OK)
        status = tool_parse_number(t->self, "--streams", t->count, 1, STREAMS_MOST, &count);
    if (status == TOOL_OK && t->count && t->backward)
        status = tool_error(TOOL_USAGE, "%s: --streams runs forward only: it excludes --backward",
                            t->self->name);
    t->streams.count = t->count ? (int)count : 0;
    t->streams.passes = t->n;
    return status;
}

/* Measures the net of the file argv[0], with the weights of argv[1] if n is 2. */
static int run_files(struct timing *t, struct net_request *r, struct net_list *inputs, int n,
                     char **argv)
{
    int status = read_numbers(t);

    r->prototxt = argv[0];
    r->weights = n > 1 ? argv[1] : NULL;
    r->backward = t->backward;
    r->plan_training = !r->no_plan;
    r->inputs = inputs;
    return status == TOOL_OK ? run(t, r, inputs) : status;
}

int cmd_time(const struct tool_command *self, int argc, char **argv)
{
    struct timing t = { .self = self, .n = 10 };
    struct net_request r = { .self = self };
    struct net_list inputs = { 0 };
    const struct tool_option options[] = {
        { "--iterations", "-n", NULL, &t.iterations },
        { "--streams", NULL, NULL, &t.count },
        { "--work", NULL, &t.counts_work, NULL },
        { "--phase", NULL, NULL, &r.phase },
        { "--level", NULL, NULL, &r.level },
        { "--place", NULL, NULL, &r.place },
        { "--allow-write", NULL, NULL, &r.allow_write },
        { "--segments", NULL, NULL, &r.segments },
        { "--max-bytes", NULL, NULL, &r.max_bytes },
        { "--layers", NULL, NULL, &r.layers },
        { "--weights-partial", NULL, &r.weights_partial, NULL },
        { "--float", NULL, &r.in_float, NULL },
        { "--precision", NULL, NULL, &r.precision },
        { "--reread-weights", NULL, &r.reread, NULL },
        { "--no-fuse", NULL, &r.no_fuse, NULL },
        { "--no-plan", NULL, &r.no_plan, NULL },
        { "--backward", NULL, &t.backward, NULL },
        { "--recompute", NULL, &r.recompute, NULL },
        { "--device", NULL, &t.on_device, NULL },
        { "--json", NULL, &t.json, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n, status;

    n = net_take_all(self, "--input", &argc, argv, &inputs) ||
                net_take_all(self, "--stage", &argc, argv, &r.stages)
            ? -2
            : tool_parse(self, argc, argv, options, 2);
    if (n < 1)
        status =
            n < 0 ? tool_parse_status(n) : tool_error(TOOL_USAGE, "%s: expected a net", self->name);
    else
        status = run_files(&t, &r, &inputs, n, argv);
    free(inputs.at);
    free(r.stages.at);
    return status;
}
