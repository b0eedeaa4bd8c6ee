/* SPDX-License-Identifier: BSD-2-Clause */
#define _POSIX_C_SOURCE 200809L
#include "quantize.h"
#include "whole.h"

#include <ferry/net_ranges.h>
#include <ferry/proto.h>

#include <stdlib.h>
#include <string.h>

/* `ferry quantize`: writes a net's weights with the ranges of its blobs. */

/* ---- results --------------------------------------------------------------------------------- */

/* Copies the saved definition, without weights, as text. */
static int write_text(const struct quantize *q)
{
    ferry_proto *definition;
    struct whole to;
    int status;

    if (!q->text)
        return TOOL_OK;
    if (ferry_proto_open(q->path, "NetParameter", NULL, &definition))
        return tool_ferry_error();
    status = whole_open(&to, q->text);
    if (status == TOOL_OK) {
        if (ferry_proto_write(definition, FERRY_PROTO_TEXT, whole_write, &to))
            status = tool_ferry_error();
        status = whole_close(&to, status);
    }
    ferry_proto_close(definition);
    return status;
}

/* Leaves the layers of --keep in F32. */
static int keep(const struct quantize *q)
{
    char *names = q->kept ? strdup(q->kept) : NULL, *rest = names;
    int status = q->kept && !names ? tool_error(TOOL_FAILURE, "out of memory") : TOOL_OK;

    while (status == TOOL_OK && rest && *rest) {
        char *name = rest;

        rest += strcspn(rest, ",");
        if (*rest)
            *rest++ = '\0';
        if (*name && ferry_net_set_float_only(q->net, name, true))
            status = tool_ferry_error();
    }
    free(names);
    return status;
}

/* Computes the ratios for --report and --max-loss, which take additional passes. */
static int judge(struct quantize *q)
{
    int status = q->is_judged ? TOOL_OK : quantize_measure_noise(q);

    q->is_judged = true;
    if (status == TOOL_OK)
        status = quantize_open_beside(q);
    return status == TOOL_OK ? quantize_compare(q) : status;
}

/* Leaves layers in F32, by the errors with weights rounded to nearest. */
static int limit_loss(struct quantize *q)
{
    int status = judge(q);

    return status == TOOL_OK ? quantize_limit_loss(q) : status;
}

static int report(struct quantize *q)
{
    int status = q->outputs && !q->adapt ? TOOL_OK : judge(q);

    return status == TOOL_OK ? quantize_show(q) : status;
}

/* Gives the net its ranges: those of the table, or those measured on the inputs. */
static int set_ranges(struct quantize *q)
{
    int status;

    if (q->from_table) {
        status = quantize_list_blobs(q);
        if (status == TOOL_OK)
            status = quantize_list_layers(q);
        return status == TOOL_OK ? quantize_read_table(q) : status;
    }
    status = feed_begin(q->self, &q->feed, q->net);
    if (status == TOOL_OK && q->equalize)
        status = quantize_equalize(q);
    if (status == TOOL_OK)
        status = quantize_measure(q);
    if (status == TOOL_OK)
        status = quantize_list_layers(q);
    if (status == TOOL_OK && q->correct)
        status = quantize_correct_biases(q);
    if (status == TOOL_OK && q->loss_text)
        status = limit_loss(q);
    if (status == TOOL_OK && q->adapt)
        status = quantize_adapt(q);
    return status == TOOL_OK && q->report ? report(q) : status;
}

static int compute(struct quantize *q)
{
    int status = keep(q);

    if (status == TOOL_OK)
        status = set_ranges(q);
    if (status == TOOL_OK && q->table)
        status = quantize_write_table(q);
    if (status == TOOL_OK && (q->integers ? ferry_net_save_integers(q->net, q->path)
                                          : ferry_net_save(q->net, q->path, FERRY_IO_CAFFEMODEL)))
        status = tool_ferry_error();
    return status == TOOL_OK ? write_text(q) : status;
}

static int run(struct quantize *q)
{
    ferry_runtime *rt = NULL;
    int status = net_open(&q->request, &rt, &q->net);

    if (status != TOOL_OK)
        return status;
    status = compute(q);
    feed_end(&q->feed);
    quantize_measure_end(q);
    free(q->layers);
    free(q->outputs);
    ferry_net_close(q->reference);
    ferry_net_close(q->quantized);
    ferry_net_close(q->net);
    ferry_runtime_close(rt);
    return status;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int parse_method(struct quantize *q)
{
    static const char *const names[] = { "minmax", "percentile", "kl", "mse" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(q->method_name, names[i]) == 0) {
            q->method = (enum quantize_method)i;
            return TOOL_OK;
        }
    return tool_error(TOOL_USAGE, "%s: --method %s: expected minmax, percentile, kl or mse",
                      q->self->name, q->method_name);
}

/* Parses a number from `least` to `most`; `text` may be NULL. */
static int parse_real(const struct quantize *q, const char *option, const char *text, double least,
                      double most, double *out)
{
    char *end;
    double value = text ? strtod(text, &end) : 0;

    if (!text)
        return TOOL_OK;
    if (end == text || *end || !(value >= least && value <= most))
        return tool_error(TOOL_USAGE, "%s: %s %s: expected a number from %g to %g", q->self->name,
                          option, text, least, most);
    *out = value;
    return TOOL_OK;
}

/* Parses the method and the numbers. */
static int parse_values(struct quantize *q)
{
    int status;

    if (q->percentile_text && !q->method_name)
        q->method_name = "percentile";
    status = q->method_name ? parse_method(q) : TOOL_OK;
    if (status == TOOL_OK && q->percentile_text && q->method != QUANTIZE_PERCENTILE)
        status =
            tool_error(TOOL_USAGE, "%s: --percentile requires --method percentile", q->self->name);
    if (status == TOOL_OK)
        status = parse_real(q, "--percentile", q->percentile_text, 50, 100, &q->percentile);
    if (status == TOOL_OK)
        status = parse_real(q, "--migration", q->migration_text, 0, 1, &q->migration);
    if (status == TOOL_OK)
        status = parse_real(q, "--max-loss", q->loss_text, 0, 1000, &q->loss);
    if (status == TOOL_OK)
        status = tool_parse_number(q->self, "--batch", q->batch, 1, 65536, &q->feed.per);
    return status;
}

static int take_arguments(struct quantize *q, int n, char **argv)
{
    if (n < 1 || !q->path || !(q->feed.spec || q->from_table))
        return tool_error(TOOL_USAGE,
                          "%s: expected a net, --output and --calibrate; usage: ferry "
                          "%s %s",
                          q->self->name, q->self->name, q->self->arguments);
    q->report = q->report || q->json;
    q->equalize = q->equalize || q->migration_text;
    if (q->from_table && (q->feed.spec || q->report || q->loss_text || q->method_name ||
                          q->equalize || q->correct || q->adapt))
        return tool_error(TOOL_USAGE,
                          "%s: --from-table excludes --calibrate, --method, --report, --json, "
                          "--max-loss, --equalize, --correct-bias, --adaptive-rounding",
                          q->self->name);
    if (q->correct && q->loss_text)
        return tool_error(TOOL_USAGE,
                          "%s: --correct-bias excludes --max-loss: biases are corrected for the "
                          "layers with 8 bits before it leaves some in F32",
                          q->self->name);
    if (q->correct && q->adapt)
        return tool_error(TOOL_USAGE,
                          "%s: --correct-bias excludes --adaptive-rounding: the means of errors "
                          "depend on the rounding",
                          q->self->name);
    q->request.prototxt = argv[0];
    q->request.weights = n > 1 ? argv[1] : NULL;
    q->request.keep = "all";
    q->request.no_plan = q->request.in_float = true;
    return parse_values(q);
}

int cmd_quantize(const struct tool_command *self, int argc, char **argv)
{
    struct quantize q = { .self = self,
                          .request = { .self = self, .phase = "TEST" },
                          .percentile = 99.99,
                          .migration = 0.5 };
    const struct tool_option options[] = {
        { "--output", "-o", NULL, &q.path },
        { "--calibrate", NULL, NULL, &q.feed.spec },
        { "--method", NULL, NULL, &q.method_name },
        { "--percentile", NULL, NULL, &q.percentile_text },
        { "--equalize", NULL, &q.equalize, NULL },
        { "--migration", NULL, NULL, &q.migration_text },
        { "--correct-bias", NULL, &q.correct, NULL },
        { "--adaptive-rounding", NULL, &q.adapt, NULL },
        { "--keep", NULL, NULL, &q.kept },
        { "--max-loss", NULL, NULL, &q.loss_text },
        { "--integers", NULL, &q.integers, NULL },
        { "--report", NULL, &q.report, NULL },
        { "--json", NULL, &q.json, NULL },
        { "--text", NULL, NULL, &q.text },
        { "--table", NULL, NULL, &q.table },
        { "--from-table", NULL, NULL, &q.from_table },
        { "--batch", NULL, NULL, &q.batch },
        { "--mean", NULL, NULL, &q.feed.pictures.mean },
        { "--scale", NULL, NULL, &q.feed.pictures.scale },
        { "--swap-rb", NULL, &q.feed.pictures.swap_rb, NULL },
        { "--crop", NULL, &q.feed.pictures.crop, NULL },
        { "--level", NULL, NULL, &q.request.level },
        { "--layers", NULL, NULL, &q.request.layers },
        { "--max-bytes", NULL, NULL, &q.request.max_bytes },
        { "--weights-partial", NULL, &q.request.weights_partial, NULL },
        { "--quiet", "-q", &q.quiet, NULL },
        { NULL, NULL, NULL, NULL },
    };
    int n = net_take_all(self, "--stage", &argc, argv, &q.request.stages)
                ? -2
                : tool_parse(self, argc, argv, options, 2);
    int status = n < 0 ? tool_parse_status(n) : take_arguments(&q, n, argv);

    if (n >= 0 && status == TOOL_OK)
        status = run(&q);
    free(q.request.stages.at);
    return status;
}
