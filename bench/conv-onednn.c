/* SPDX-License-Identifier: BSD-2-Clause */
#include "conv.h"

#if HAVE_DNNL
#include <dnnl.h>

#include <stdlib.h>

/* The primitive alone, on memory in its preferred formats, without reordering. */

/* From the OpenMP that Debian's oneDNN uses. */
extern void omp_set_num_threads(int threads);

enum { X, W, BIAS, Y, OPERANDS };

struct primitive {
    int threads;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[OPERANDS];
    void *block[OPERANDS];
};

static void run(void *state)
{
    struct primitive *p = state;
    const dnnl_exec_arg_t args[OPERANDS] = { { DNNL_ARG_SRC, p->memory[X] },
                                             { DNNL_ARG_WEIGHTS, p->memory[W] },
                                             { DNNL_ARG_BIAS, p->memory[BIAS] },
                                             { DNNL_ARG_DST, p->memory[Y] } };

    omp_set_num_threads(p->threads);
    dnnl_primitive_execute(p->primitive, p->stream, OPERANDS, args);
    dnnl_stream_wait(p->stream);
}

static void destroy(void *state)
{
    struct primitive *p = state;

    for (int i = 0; i < OPERANDS; i++) {
        dnnl_memory_destroy(p->memory[i]);
        free(p->block[i]);
    }
    dnnl_primitive_destroy(p->primitive);
    dnnl_primitive_desc_destroy(p->description);
    dnnl_stream_destroy(p->stream);
    dnnl_engine_destroy(p->engine);
    free(p);
}

/* Any format: the primitive chooses it. */
static dnnl_memory_desc_t any(int rank, const dnnl_dims_t shape)
{
    dnnl_memory_desc_t md;

    dnnl_memory_desc_init_by_tag(&md, rank, shape, dnnl_f32, dnnl_format_tag_any);
    return md;
}

static int describe(const struct conv_shape *s, struct primitive *p)
{
    const dnnl_dims_t x = { 1, s->channels, s->size, s->size };
    const dnnl_dims_t plain = { s->outputs, s->channels, s->kernel, s->kernel };
    const dnnl_dims_t grouped = { s->group, s->outputs / s->group, s->channels / s->group,
                                  s->kernel, s->kernel };
    const dnnl_dims_t bias = { s->outputs }, y = { 1, s->outputs, conv_out(s), conv_out(s) };
    const dnnl_dims_t strides = { s->stride, s->stride }, pads = { s->pad, s->pad };
    dnnl_memory_desc_t x_md = any(4, x), bias_md = any(1, bias), y_md = any(4, y);
    dnnl_memory_desc_t w_md = s->group > 1 ? any(5, grouped) : any(4, plain);
    dnnl_convolution_desc_t convolution;
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t relu;
    int err;

    dnnl_primitive_attr_create(&attributes);
    dnnl_post_ops_create(&relu);
    dnnl_post_ops_append_eltwise(relu, 1, dnnl_eltwise_relu, 0, 0);
    dnnl_primitive_attr_set_post_ops(attributes, relu);
    err = dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference,
                                             dnnl_convolution_direct, &x_md, &w_md, &bias_md, &y_md,
                                             strides, pads, pads) != dnnl_success ||
          dnnl_primitive_desc_create(&p->description, &convolution, attributes, p->engine, NULL) !=
              dnnl_success;
    dnnl_post_ops_destroy(relu);
    dnnl_primitive_attr_destroy(attributes);
    return err ? -1 : 0;
}

/*
 * The distance of operands within their pages, as for the plugin's blocks; otherwise some shapes
 * would suffer from 4K aliasing.
 */
#define PLACE 576

static int give_memory(struct primitive *p, int which, dnnl_query_t what)
{
    const dnnl_memory_desc_t *md =
        dnnl_primitive_desc_query_md(p->description, what, which == BIAS);
    size_t bytes = dnnl_memory_desc_get_size(md);
    float *f;

    p->block[which] = aligned_alloc(64, (bytes + 63) / 64 * 64 + OPERANDS * PLACE);
    if (!p->block[which])
        return -1;
    f = (float *)((char *)p->block[which] + which * PLACE);
    for (size_t i = 0; i < bytes / sizeof(*f); i++)
        f[i] = (float)(i % 17) * 0.01f;
    return dnnl_memory_create(&p->memory[which], md, p->engine, f) == dnnl_success ? 0 : -1;
}

int conv_onednn(const struct conv_shape *s, int threads, struct conv *out)
{
    static const dnnl_query_t what[OPERANDS] = { dnnl_query_src_md, dnnl_query_weights_md,
                                                 dnnl_query_weights_md, dnnl_query_dst_md };
    struct primitive *p = calloc(1, sizeof(*p));
    int err = 0;

    if (!p)
        return -1;
    omp_set_num_threads(threads);
    p->threads = threads;
    if (dnnl_engine_create(&p->engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&p->stream, p->engine, dnnl_stream_default_flags) != dnnl_success ||
        describe(s, p) != 0 ||
        dnnl_primitive_create(&p->primitive, p->description) != dnnl_success) {
        free(p); /* its state stays allocated until the process ends */
        return -1;
    }
    for (int i = 0; i < OPERANDS; i++)
        err |= give_memory(p, i, what[i]);
    *out = (struct conv){ run, destroy, p, NULL, threads > 1 ? 0.01 : 0 };
    if (err)
        destroy(p);
    return err;
}
#else
int conv_onednn(const struct conv_shape *s, int threads, struct conv *out)
{
    (void)s;
    (void)threads;
    (void)out;
    return -1;
}
#endif
