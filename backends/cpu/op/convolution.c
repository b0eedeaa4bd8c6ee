/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/window.h"
#include "depthwise.h"
#include "depthwise_planes.h"
#include "grouped.h"
#include "op.h"
#include "patches.h"
#include "taps.h"
#include "values.h"
#include "winograd_planes.h"

#include <ferry/op_types.h>
#include <string.h>

/*
 * CONVOLUTION of F32 as a product of matrices. The rows of a are patches of the input (patches.h),
 * the columns of b are the kernels of the outputs, and each group is a batch.
 */

/* ---- planning ------------------------------------------------------------------------------- */

/* Whether pixels of consecutive images have one constant distance. */
static bool is_one_row(int64_t images, const int64_t *length, const int64_t *stride,
                       int64_t *out_distance)
{
    int64_t pixels = 1;

    *out_distance = 0;
    for (int i = 4; i >= 1; i--) { /* the spatial axes from the innermost, then the images */
        int axis = i == 1 ? 0 : i;
        int64_t along = axis == 0 ? images : length[axis - 2];

        if (along == 1)
            continue;
        if (pixels == 1)
            *out_distance = stride[axis];
        if (stride[axis] != *out_distance * pixels)
            return false;
        pixels *= along;
    }
    return true;
}

/* Whether rows at such distances compete for few sets of the first-level cache. */
static bool is_crowded(int64_t distance, int64_t rows)
{
    return rows > 4 && distance % 512 == 0;
}

/* Whether the input's pixels are the rows of a; their distance. */
static bool has_rows(const struct cpu_op *p, int64_t *out_distance)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    if (w->taps != 1 || (w->x[1] != 1 && w->channels > p->op.params.window.group))
        return false;
    for (int i = 0; i < 3; i++)
        if (w->stride[i] != 1 || w->pad[i] != 0 || w->pad_end[i] != 0)
            return false;
    return is_one_row(w->images, w->in, w->x, out_distance);
}

static bool can_stay_in_place(const struct cpu_op *p)
{
    int64_t distance;

    return has_rows(p, &distance) && !is_crowded(distance, p->plan.convolution.gemm.m);
}

/*
 * The number of groups that form one batch: as many as fill a vector with their outputs. The
 * narrowest panel is a vector wide, so that this takes as many multiplications as a batch for each
 * group. Weights between groups are zeros.
 */
static int64_t groups_together(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    int64_t group = p->op.params.window.group, together = 1;

    for (int64_t i = 2; w->x[1] == 1 && i * (w->outputs / group) <= p->loops->lanes; i++)
        if (group % i == 0)
            together = i;
    return together;
}

/*
 * The length of sums up to which interleaving takes less time than a pass over the image; and the
 * number of tiles whose windows are interleaved at a time.
 */
#define PLANES_MOST  64
#define PLANES_TILES 4

/*
 * Whether the windows of a row-major image of three channels are interleaved when they are read.
 * Instruction sets without permutations of 16 floats take more time for that than for a pass over
 * the image.
 */
static bool can_read_planes(const struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    bool is_image = w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1;

    return p->loops->lanes == 16 && is_image && w->channels == 3 &&
           p->plan.convolution.gemm.batches == 1 && w->taps * 3 <= PLANES_MOST && w->x[4] == 1 &&
           w->x[1] != 1 && w->y[1] == 1 && w->dilation[2] == 1 && w->stride[2] <= w->kernel[2] &&
           !p->is_empty && !p->plan.convolution.is_transposed;
}

static void plan_product(struct cpu_op *p)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    struct cpu_gemm *g = &p->plan.convolution.gemm;
    uint64_t packed;

    g->batches = p->op.params.window.group / groups_together(p);
    g->m = w->images * w->out[0] * w->out[1] * w->out[2];
    g->n = w->outputs / g->batches;
    g->k = w->taps * (w->channels / g->batches);
    g->m_line = w->out[2];
    g->k_line = w->kernel[2] * (w->channels / g->batches);
    g->is_in_place = can_stay_in_place(p);
    if (g->batches == (int64_t)p->op.params.window.group)
        cpu_op_choose_form(p, g);
    p->plan.convolution.reads_planes = can_read_planes(p);
    g->brought = p->plan.convolution.reads_planes ? PLANES_TILES : 0;
    cpu_gemm_plan(g, p->loops, p->threads);
    packed = (uint64_t)(g->batches * cpu_gemm_packed(g)) * sizeof(float);
    p->answer.epilogue = cpu_epilogue_taken(p, true);
    cpu_op_pack_or_not(p, 1, packed, cpu_gemm_workspace(g));
}

/* ---- running -------------------------------------------------------------------------------- */

struct places {
    const struct cpu_op *op;
    const struct cpu_window *window;
    struct cpu_patches patches;
    struct cpu_span inner; /* the pixels of a line whose windows are inside the image */
    bool is_flat;          /* the image is one plane, and a window's lines are consecutive in k */
    bool is_by_taps;       /* the channels of a tap are contiguous, and blocks of k are whole
                            * lines */
    bool reads_planes;     /* the same after three planes are interleaved */
    int64_t add[5];        /* the strides of the added operand */
};

/*
 * Copies the lines of x that the windows of rows need, with their padding, for rows of one line of
 * y.
 */
static void bring_window(const struct places *s, const float *image, int64_t top, int64_t left,
                         int64_t lines, int64_t pixels, float *to)
{
    const struct cpu_window *w = s->window;
    int64_t channels = s->patches.channels, before = left < 0 ? least(-left, pixels) : 0;
    int64_t seen = least(w->in[2] - left, pixels) - before;
    bool is_dense = w->x[4] == channels;
    const float *from;

    seen = seen > 0 ? seen : 0;
    for (int64_t i = 0; i < lines; i++, top += w->dilation[1], to += pixels * channels) {
        if (top < 0 || top >= w->in[1] || !seen) {
            memset(to, 0, (size_t)(pixels * channels) * sizeof(*to));
            continue;
        }
        from = image + top * w->x[3] + (left + before) * w->x[4];
        memset(to, 0, (size_t)(before * channels) * sizeof(*to));
        if (s->reads_planes)
            s->op->loops->interleave(channels, seen, from, w->x[1], to + before * channels);
        else
            s->op->loops->move_lines(is_dense ? 1 : seen, is_dense ? seen * channels : channels,
                                     from, w->x[4], to + before * channels, channels);
        memset(to + (before + seen) * channels, 0,
               (size_t)((pixels - before - seen) * channels) * sizeof(*to));
    }
}

static void bring(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t k, int64_t depth, float *to, struct cpu_tile *tile)
{
    const struct places *s = r->arg;
    const struct cpu_window *w = s->window;
    struct cpu_patches patches = s->patches;
    int64_t line = first / w->out[2], at = first % w->out[2], k_line = r->plan->k_line;
    int64_t pixels = (rows - 1) * w->stride[2] + w->kernel[2];

    if (!r->brings_windows || at + rows > w->out[2]) {
        patches.x += batch * patches.channels * w->x[1];
        r->loops->patches(&patches, first, rows, k, depth, to, tile->a_row);
        return;
    }
    tile->a_row = w->stride[2] * patches.channels;
    tile->spans = depth / k_line;
    tile->span = k_line;
    tile->jump = pixels * patches.channels - k_line;
    bring_window(s, patches.x + line / w->out[1] * w->x[0] + batch * patches.channels * w->x[1],
                 line % w->out[1] * w->stride[1] - w->pad[1] + k / k_line * w->dilation[1],
                 at * w->stride[2] - w->pad[2], tile->spans, pixels, to);
}

/*
 * Whether the lines of x for a line of y can be copied as one piece, because lines of taps are
 * complete.
 */
static bool brings_windows(const struct places *s)
{
    const struct cpu_window *w = s->window;

    return s->reads_planes ||
           (s->is_by_taps && w->dilation[2] == 1 && w->stride[2] <= w->kernel[2]);
}

/*
 * The number of rows that can be read in place: pixels of one line of y whose lines of taps are all
 * inside the image, with the required layout. Pixels whose windows are in the padding, which adds
 * nothing, are skipped.
 */
static int64_t reach(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                     int64_t k, int64_t depth, struct cpu_tile *tile)
{
    const struct places *s = r->arg;
    const struct cpu_window *w = s->window;
    int64_t line = first / w->out[2], at = first % w->out[2], k_line = r->plan->k_line;
    int64_t row = w->stride[2] * w->x[4], left = at * w->stride[2] - w->pad[2];
    int64_t top = line % w->out[1] * w->stride[1] - w->pad[1] + k / k_line * w->dilation[1];
    int64_t lines = depth > k_line ? depth / k_line : 1;

    rows = least(rows, w->out[2] - at);
    if (s->is_flat && (top + (lines - 1) * w->dilation[1] < 0 || top >= w->in[1])) {
        tile->a = s->patches.x;
        tile->a_row = tile->spans = 0;
        return rows;
    }
    if (!(s->is_by_taps || (s->patches.is_dense && s->is_flat)) || top < 0 ||
        top + (lines - 1) * w->dilation[1] >= w->in[1] || is_crowded(row, r->loops->rows) ||
        at >= s->inner.end)
        return -rows;
    if (at < s->inner.first)
        return -least(s->inner.first - at, rows);
    tile->a = s->patches.x + line / w->out[1] * w->x[0] + batch * s->patches.channels * w->x[1] +
              top * w->x[3] + left * w->x[4] + k % k_line;
    tile->a_row = row;
    tile->spans = lines;
    tile->span = depth / lines;
    tile->jump = w->dilation[1] * w->x[3] - k_line;
    tile->line = 0;
    if (!s->patches.is_dense) {
        tile->spans = lines * w->kernel[2];
        tile->span = s->patches.channels;
        tile->jump = w->dilation[2] * w->x[4] - tile->span;
        tile->line = w->kernel[2];
        tile->line_jump = w->dilation[1] * w->x[3] - w->kernel[2] * w->dilation[2] * w->x[4];
    }
    return least(rows, s->inner.end - at);
}

static int64_t offset_of(const int64_t *stride, int64_t image, const int64_t *at)
{
    return image * stride[0] + at[0] * stride[2] + at[1] * stride[3] + at[2] * stride[4];
}

static void place(const struct cpu_gemm_run *r, int64_t batch, int64_t first, int64_t rows,
                  int64_t *y_at, int64_t *add_at)
{
    const struct places *s = r->arg;
    const struct cpu_window *w = s->window;
    int64_t line = first / w->out[2], channel = batch * r->plan->n;
    int64_t at[3] = { line / w->out[1] % w->out[0], line % w->out[1], first % w->out[2] };
    int64_t image = line / w->out[1] / w->out[0];

    for (int64_t i = 0, run = 0; i < rows; i++, run++) {
        if (run == 0) { /* the first row of a line */
            y_at[i] = offset_of(w->y, image, at) + channel * w->y[1];
            add_at[i] = offset_of(s->add, image, at) + channel * s->add[1];
        } else {
            y_at[i] = y_at[i - 1] + w->y[4];
            add_at[i] = add_at[i - 1] + s->add[4];
        }
        if (++at[2] < w->out[2])
            continue;
        run = -1;
        at[2] = 0;
        if (++at[1] < w->out[1])
            continue;
        at[1] = 0;
        if (++at[0] < w->out[0])
            continue;
        at[0] = 0;
        image++;
    }
}

static void find_places(const struct cpu_op *p, const struct cpu_op_args *args, struct places *s)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    int64_t channels = w->channels / g->batches;
    bool is_transposed = p->plan.convolution.is_transposed;
    bool is_close = (w->x[1] == 1 || channels == 1) && !is_transposed;

    *s = (struct places){
        .op = p,
        .window = w,
        .inner = cpu_window_whole(w, 2),
        .reads_planes = p->plan.convolution.reads_planes,
        .is_flat = w->in[0] == 1 && w->kernel[0] == 1 && w->out[0] == 1 && !is_transposed,
        .patches = { .window = w,
                     .x = args->in[0],
                     .channels = channels,
                     .is_transposed = is_transposed,
                     .is_dense = is_close && (w->kernel[2] == 1 ||
                                              (w->x[4] == channels && w->dilation[2] == 1)) },
    };
    s->is_by_taps = is_close && s->is_flat && g->k > 0 && g->depth % g->k_line == 0;
    for (uint32_t i = 0; i < p->answer.epilogue; i++) {
        struct cpu_window of_add;

        if (p->op.epilogue[i].step != FERRY_STEP_ADD)
            continue;
        cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.in[p->op.epilogue[i].operand],
                        &of_add);
        for (int k = 0; k < 5; k++)
            s->add[k] = of_add.y[k];
    }
}

static int64_t floats_packed(const struct cpu_op *p)
{
    int64_t points = p->plan.convolution.winograd.points;
    const struct cpu_gemm *g = &p->plan.convolution.gemm;

    return (points ? points : g->batches) * cpu_gemm_packed(g);
}

/* Uses the product's operands in place, without `place` or a packed copy, where possible. */
static void take_in_place(const struct cpu_op *p, const struct cpu_op_args *args,
                          const struct places *places, struct cpu_gemm_run *r)
{
    const struct cpu_window *w = &p->plan.convolution.window;

    if (is_one_row(w->images, w->out, w->y, &r->y_row) &&
        is_one_row(w->images, w->out, places->add, &r->add_row)) {
        r->place = NULL;
        r->y_batch = r->plan->n * w->y[1];
        r->add_batch = r->plan->n * places->add[1];
    }
    if (p->plan.convolution.gemm.is_in_place || p->plan.convolution.strassen.pairs) {
        r->a = args->in[0];
        is_one_row(w->images, w->in, w->x, &r->a_row);
        r->a_batch = places->patches.channels * w->x[1];
    }
}

/* Adds the bias and the steps of the epilogue. */
static void find_steps(const struct cpu_op *p, const struct cpu_op_args *args,
                       struct cpu_gemm_run *r)
{
    if (p->own_in > 2)
        r->step[r->steps++] = (struct cpu_step){ .step = FERRY_STEP_SHIFT,
                                                 .operand = args->in[2],
                                                 .stride = p->op.in[2].stride[0] };
    cpu_epilogue_steps(p, args, r);
}

static void product_run(struct cpu_device *d, const struct cpu_op *p,
                        const struct cpu_op_args *args)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_gemm *g = &p->plan.convolution.gemm;
    struct cpu_gemm_run r = { .plan = g,
                              .loops = p->loops,
                              .pairs = p->pairs,
                              .b = args->packed,
                              .b_batch = cpu_gemm_packed(g),
                              .reach = reach,
                              .bring = bring,
                              .place = place,
                              .y = args->out[0],
                              .y_column = w->y[1],
                              .step_batch = g->n,
                              .scratch = args->workspace };
    struct places places;

    find_places(p, args, &places);
    r.arg = &places;
    r.brings_windows = brings_windows(&places);
    take_in_place(p, args, &places, &r);
    if (!r.b) {
        float *packed = r.scratch + p->answer.workspace_bytes / sizeof(float) - floats_packed(p);

        cpu_convolution_pack(d, p, args->in[1], packed);
        r.b = packed;
    }
    find_steps(p, args, &r);
    if (p->plan.convolution.winograd.side)
        cpu_winograd_run(d, p, args->in[0], &r, places.add);
    else if (p->plan.convolution.strassen.pairs)
        cpu_strassen_run(d, p, &r);
    else
        cpu_gemm_do(d->workers, &r);
}

/* ---- the choice among products --------------------------------------------------------------- */

/*
 * Whether strassen.c can compute the product: pixels are rows, in place, and the micro-kernel
 * performs the steps. Sets the distance of the rows of a.
 */
static bool fits_strassen(const struct cpu_op *p, int64_t *out_row)
{
    const struct cpu_window *w = &p->plan.convolution.window;
    const struct cpu_op_args none = { 0 };
    struct cpu_gemm_run r = { .y_column = w->y[1] };
    struct places places;

    if (p->op.params.window.group != 1 || p->plan.convolution.is_transposed ||
        p->plan.convolution.winograd.points || !has_rows(p, out_row))
        return false;
    find_places(p, &none, &places);
    find_steps(p, &none, &r);
    return is_one_row(w->images, w->out, w->y, &r.y_row) &&
           is_one_row(w->images, w->out, places.add, &r.add_row) && cpu_gemm_make_store(&r);
}

static void plan_any_product(struct cpu_op *p)
{
    int64_t row;

    if (cpu_integer_bf16_plan(p))
        return;
    plan_product(p);
    cpu_winograd_plan(p);
    if (fits_strassen(p, &row) && cpu_strassen_plan(p, row))
        return;
    if (!p->plan.convolution.winograd.points && cpu_planes_can(p)) {
        p->plan.convolution.method = CPU_CONVOLUTION_PLANES;
        p->plan.convolution.gemm.form = CPU_GEMM_FLOATS;
        cpu_planes_plan(p);
    }
    if (p->plan.convolution.reads_planes)
        memset(p->answer.order, 0, sizeof(p->answer.order));
}

/* ---- all methods ---------------------------------------------------------------------------- */

/* By cpu_convolution_method. */
static const struct {
    void (*plan)(struct cpu_op *p);
    void (*pack)(struct cpu_device *d, const struct cpu_op *p, const float *w,
                 float *packed); /* NULL: planes.c */
    void (*run)(struct cpu_device *d, const struct cpu_op *p, const struct cpu_op_args *args);
} methods[] = {
    [CPU_CONVOLUTION_DIRECT] = { NULL, NULL, cpu_direct_run },
    [CPU_CONVOLUTION_PRODUCT] = { plan_any_product, cpu_convolution_pack, product_run },
    [CPU_CONVOLUTION_PLANES] = { NULL, NULL, cpu_planes_run },
    [CPU_CONVOLUTION_SPREAD] = { cpu_spread_plan, NULL, cpu_planes_run },
    [CPU_CONVOLUTION_DECONVOLUTION] = { cpu_deconvolution_plan, cpu_deconvolution_pack,
                                        cpu_deconvolution_run },
    [CPU_CONVOLUTION_DEPTHWISE] = { cpu_depthwise_plan, cpu_depthwise_pack, cpu_depthwise_run },
    [CPU_CONVOLUTION_DEPTHWISE_PLANES] = { NULL, NULL, cpu_depthwise_planes_run },
    [CPU_CONVOLUTION_GROUPED] = { cpu_grouped_plan, cpu_grouped_pack, cpu_grouped_run },
    [CPU_CONVOLUTION_WINOGRAD_PLANES] = { NULL, NULL, cpu_winograd_planes_run },
};

/* Plans a convolution with values of BF16. */
static int plan_values(struct cpu_op *p)
{
    enum cpu_convolution_method *method = &p->plan.convolution.method;
    bool can;

    if (p->plan.convolution.is_transposed || !cpu_op_takes_pairs(p))
        return FERRY_EUNSUPPORTED;
    cpu_taps_trim(p);
    *method = CPU_CONVOLUTION_PRODUCT;
    if (cpu_depthwise_can(p)) {
        *method = CPU_CONVOLUTION_DEPTHWISE;
        cpu_depthwise_plan(p);
        can = cpu_depthwise_takes_values(p);
    } else if (cpu_grouped_can(p)) {
        can = false;
    } else {
        can = cpu_integer_bf16_plan(p);
        if (!can) {
            plan_product(p);
            cpu_winograd_plan(p);
            can = cpu_winograd_takes_values(p);
        }
    }
    return can ? 0 : FERRY_EUNSUPPORTED;
}

static int convolution_plan(struct cpu_op *p)
{
    enum cpu_convolution_method *method = &p->plan.convolution.method;

    if (!cpu_is_integer(&p->op.in[0]) && !cpu_op_is_real(p) && !cpu_op_has_values(p))
        return FERRY_EUNSUPPORTED;
    cpu_window_make(&p->op.params.window, &p->op.in[0], &p->op.out[0], &p->plan.convolution.window);
    cpu_taps_find(p);
    if (cpu_is_integer(&p->op.in[0]))
        return cpu_integer_convolution_plan(p);
    cpu_op_prefer_channels_last(p);
    if (cpu_op_has_values(p))
        return plan_values(p);
    if (!cpu_op_is_all(p, FERRY_F32, FERRY_OP_INPUTS, 1))
        return 0;
    *method = cpu_depthwise_planes_can(p) ? CPU_CONVOLUTION_DEPTHWISE_PLANES
              : cpu_deconvolution_can(p)  ? CPU_CONVOLUTION_DECONVOLUTION
              : cpu_spread_can(p)         ? CPU_CONVOLUTION_SPREAD
                                          : CPU_CONVOLUTION_PRODUCT;
    if (*method == CPU_CONVOLUTION_DEPTHWISE_PLANES)
        return 0;
    if (p->plan.convolution.is_transposed && *method != CPU_CONVOLUTION_SPREAD)
        cpu_taps_turn(p);
    if (!p->plan.convolution.is_transposed)
        cpu_taps_trim(p);
    if (*method == CPU_CONVOLUTION_PRODUCT)
        *method = cpu_depthwise_can(p) ? CPU_CONVOLUTION_DEPTHWISE
                  : cpu_grouped_can(p) ? CPU_CONVOLUTION_GROUPED
                                       : CPU_CONVOLUTION_PRODUCT;
    methods[*method].plan(p);
    return 0;
}

static void convolution_prepare(struct cpu_device *d, const struct cpu_op *p, const void *const *in,
                                void *packed)
{
    if (methods[p->plan.convolution.method].pack)
        methods[p->plan.convolution.method].pack(d, p, in[1], packed);
    else
        cpu_planes_pack(d, p, in[1], packed);
}

static void convolution_run(struct cpu_device *d, const struct cpu_op *p,
                            const struct cpu_op_args *args)
{
    methods[p->plan.convolution.method].run(d, p, args);
}

/* Plans the gradient of x, which is a transposed convolution of dy. */
static int data_plan(struct cpu_op *p)
{
    p->op.params.window.transposed = !p->op.params.window.transposed;
    return convolution_plan(p);
}

const struct cpu_op_kind cpu_op_convolution = {
    .kind = FERRY_OP_CONVOLUTION,
    .plan = convolution_plan,
    .prepare = convolution_prepare,
    .run = convolution_run,
};

const struct cpu_op_kind cpu_op_convolution_data = {
    .kind = FERRY_OP_CONVOLUTION,
    .pass = FERRY_PASS_BACKWARD_DATA,
    .plan = data_plan,
    .prepare = convolution_prepare,
    .run = convolution_run,
};
