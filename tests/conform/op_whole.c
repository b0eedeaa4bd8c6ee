/* SPDX-License-Identifier: BSD-2-Clause */
#include "op.h"

#include "arith.h"

#include <ferry/op.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Operations of any size, with arrays in blocks of their own. A pattern shows whether every element
 * of an output is written, and whether the bytes after it are unchanged; some elements are
 * computed.
 */

#define TAIL OP_TAIL

/* The pattern of elements that a run has not written: a NaN of F32, or two NaNs of F16. */
static uint32_t pattern_of(const ferry_operand *o)
{
    return o->dtype == FERRY_F16 ? 0xfeadfead : 0xffc0dead;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static uint64_t bytes_of(const ferry_operand *o)
{
    int64_t last[FERRY_OP_AXES];

    if (op_count(o) == 0)
        return 0;
    for (uint32_t axis = 0; axis < o->rank; axis++)
        last[axis] = o->shape[axis] - 1;
    return (uint64_t)(op_place(o, last) + 1) * arith_size((ferry_dtype)o->dtype);
}

static void put_pattern(uint32_t pattern, unsigned char *to, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += sizeof(pattern))
        memcpy(to + at, &pattern, bytes - at < sizeof(pattern) ? bytes - at : 4);
}

/* A block of the device, or NULL if its memory is too small. */
static void *try_alloc(uint64_t bytes)
{
    void *handle = NULL;
    uint32_t flags = 0;
    int code;

    if (!kit_can_bind(bytes))
        return NULL;
    code = kit.ops.alloc(kit.dev, NULL, bytes, 0, &handle, &flags);
    if (code == FERRY_ENOMEM)
        return NULL;
    kit_ok(code, "alloc");
    if (kit_is(FERRY_DEVICE_ORDERED_ALLOC))
        kit_ok(kit.ops.synchronize(kit.dev), "synchronize");
    return handle;
}

static bool open_array(struct op_array *a, const ferry_operand *o)
{
    a->o = *o;
    a->bytes = bytes_of(o);
    a->host = kit_host(a->bytes + TAIL);
    a->got = kit_host(a->bytes + TAIL);
    put_pattern(pattern_of(o), a->host, a->bytes + TAIL);
    a->handle = try_alloc(a->bytes + TAIL);
    return a->handle != NULL;
}

static void close_array(struct op_array *a)
{
    free(a->host);
    free(a->got);
    if (a->handle)
        kit_free(a->handle);
}

static void upload(const struct op_array *a)
{
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_H2D, (ferry_ref){ a->handle, 0 },
                          (ferry_cref){ a->host, 0 }, a->bytes + TAIL),
           "memcpy H2D");
}

static void download(const struct op_array *a)
{
    kit_ok(kit.ops.memcpy(kit.dev, NULL, FERRY_MEMCPY_D2H, (ferry_ref){ a->got, 0 },
                          (ferry_cref){ a->handle, 0 }, a->bytes + TAIL),
           "memcpy D2H");
}

struct op_view op_array_view(const struct op_array *a)
{
    return (struct op_view){ a->o, a->host };
}

/* Well mixed bits of a number. */
static uint64_t mixed(uint64_t k)
{
    k = (k ^ k >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return (k ^ k >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

void op_array_fill(struct op_array *a, double least, double most, unsigned seed)
{
    ferry_dtype t = (ferry_dtype)a->o.dtype;
    int64_t n = (int64_t)(a->bytes / arith_size(t));

    for (int64_t k = 0; k < n; k++) {
        double u = (double)(mixed((uint64_t)k + ((uint64_t)seed << 40)) & 0xffffff) / 0x1p24;

        if (t == FERRY_F32)
            ((float *)(void *)a->host)[k] = (float)(least + (most - least) * u);
        else
            arith_put(t, a->host, k, (long double)(least + (most - least) * u));
    }
}

/* ---- an operation --------------------------------------------------------------------------- */

/* The operation without the steps that the plugin refuses, and without their operands. */
static bool ask(ferry_op_desc *op, ferry_op_answer *answer)
{
    if (ferry_op_desc_check(op) != FERRY_OK)
        kit_fail("the check itself is wrong: %s", ferry_last_error());
    if (op_ask(op, answer))
        return false;
    if (answer->epilogue < op->n_epilogue) {
        op_cut(op, answer->epilogue);
        if (op_ask(op, answer))
            kit_fail("query refuses the operation without the epilogue that it did not accept");
    }
    return true;
}

void op_create(const ferry_op_desc *op, void **out_prepared)
{
    ferry_op_desc *lent = kit_host(sizeof(*lent));

    *lent = *op;
    *out_prepared = NULL;
    kit_ok(op_table->create(kit.dev, lent, out_prepared), "create");
    memset(lent, 0xa5, sizeof(*lent)); /* create has copied the descriptor */
    free(lent);
}

static bool open_arrays(struct op_whole *w)
{
    bool fits = true;

    for (uint32_t i = 0; i < w->op.n_in; i++)
        fits = open_array(&w->in[i], &w->op.in[i]) && fits;
    for (uint32_t i = 0; i < w->op.n_out; i++)
        fits = open_array(&w->out[i], &w->op.out[i]) && fits;
    if (w->answer.packed_bytes)
        fits = (w->packed = try_alloc(w->answer.packed_bytes)) && fits;
    if (w->answer.workspace_bytes)
        fits = (w->workspace = try_alloc(w->answer.workspace_bytes)) && fits;
    return fits;
}

bool op_whole_open(struct op_whole *w, const ferry_op_desc *op, const char *note)
{
    memset(w, 0, sizeof(*w));
    w->op = *op;
    op_say(op, note, "");
    op_tally.tried++;
    if (!ask(&w->op, &w->answer))
        return false;
    if (!open_arrays(w)) {
        kit_skipped("the device's memory is too small");
        op_whole_close(w);
        return false;
    }
    op_create(&w->op, &w->prepared);
    op_tally.taken++;
    op_tally.kinds |= op->kind >= 32 && op->kind < 64 ? UINT64_C(1) << (op->kind - 32) : 0;
    return true;
}

void op_whole_close(struct op_whole *w)
{
    if (w->prepared)
        op_table->destroy(kit.dev, w->prepared);
    for (uint32_t i = 0; i < w->op.n_in; i++)
        close_array(&w->in[i]);
    for (uint32_t i = 0; i < w->op.n_out; i++)
        close_array(&w->out[i]);
    if (w->packed)
        kit_free(w->packed);
    if (w->workspace)
        kit_free(w->workspace);
}

bool op_reads_outputs(const ferry_op_desc *op)
{
    return op->pass >= FERRY_PASS_BACKWARD_WEIGHTS || op->kind == FERRY_OP_SCATTER_ADD ||
           op->kind == FERRY_OP_UPDATE;
}

/* ---- running -------------------------------------------------------------------------------- */

static void prepare(struct op_whole *w, void *queue)
{
    ferry_cref in[FERRY_OP_INPUTS] = { { NULL, 0 } };

    for (uint32_t i = 0; i < w->op.n_in; i++)
        if (w->answer.packed_inputs >> i & 1)
            in[i] = (ferry_cref){ w->in[i].handle, 0 };
    kit_ok(op_table->prepare(kit.dev, queue, w->prepared, in, (ferry_ref){ w->packed, 0 }),
           "prepare");
}

static void submit(struct op_whole *w, void *queue)
{
    ferry_cref in[FERRY_OP_INPUTS];
    ferry_ref out[FERRY_OP_OUTPUTS];
    ferry_op_run_args args = {
        .struct_size = sizeof(args), .in = in, .out = out, .seed = OP_SEED, .offset = OP_OFFSET
    };

    for (uint32_t i = 0; i < w->op.n_in; i++)
        in[i] = (ferry_cref){ w->answer.packed_inputs >> i & 1 ? NULL : w->in[i].handle, 0 };
    for (uint32_t i = 0; i < w->op.n_out; i++)
        out[i] = (ferry_ref){ w->out[i].handle, 0 };
    if (w->op.kind == FERRY_OP_UPDATE) {
        args.scalars = op_scalars;
        args.scalar_count = FERRY_UPDATE_SCALARS;
    }
    args.packed.handle = w->packed;
    args.workspace.handle = w->workspace;
    kit_ok(op_table->run(kit.dev, queue, w->prepared, &args), "run");
}

void op_whole_submit(struct op_whole *w, void *queue, bool prepares)
{
    if (w->packed && prepares)
        prepare(w, queue);
    submit(w, queue);
}

void op_whole_download(struct op_whole *w)
{
    for (uint32_t i = 0; i < w->op.n_out; i++)
        download(&w->out[i]);
    kit_wait(NULL);
}

void op_whole_run(struct op_whole *w, void *queue, bool prepares)
{
    for (uint32_t i = 0; i < w->op.n_in; i++)
        upload(&w->in[i]);
    for (uint32_t i = 0; i < w->op.n_out; i++)
        upload(&w->out[i]);
    kit_wait(NULL);
    op_whole_submit(w, queue, prepares);
    kit_wait(queue);
    op_whole_download(w);
}

/* ---- results -------------------------------------------------------------------------------- */

static void index_at(const ferry_operand *o, int64_t k, int64_t *i)
{
    memset(i, 0, FERRY_OP_AXES * sizeof(*i));
    for (uint32_t axis = o->rank; axis-- > 0; k /= o->shape[axis])
        i[axis] = k % o->shape[axis];
}

/*
 * The index of the first element with the pattern, in memory; or −1. Only for a plain
 * output.
 */
static int64_t first_unwritten(const struct op_array *a)
{
    size_t size = arith_size((ferry_dtype)a->o.dtype);
    uint32_t pattern = pattern_of(&a->o);
    size_t compared = size < sizeof(pattern) ? size : sizeof(pattern);

    if (size < sizeof(pattern) && a->o.dtype != FERRY_F16)
        return -1;
    for (uint64_t at = 0; at < a->bytes; at += size)
        if (memcmp(a->got + at, &pattern, compared) == 0)
            return (int64_t)(at / size);
    return -1;
}

static void check_written(const struct op_whole *w, uint32_t n)
{
    const struct op_array *a = &w->out[n];

    if (memcmp(a->got + a->bytes, a->host + a->bytes, TAIL) != 0)
        kit_fail("out[%" PRIu32 "]: wrote behind its last element", n);
    if (!op_reads_outputs(&w->op) && first_unwritten(a) >= 0)
        kit_fail("out[%" PRIu32 "]: element %" PRId64 " of %" PRId64 " was not written", n,
                 first_unwritten(a), op_count(&a->o));
}

static void check_one(struct op_whole *w, const struct op_scene *s, uint32_t n, int64_t k,
                      op_accepts *accepts)
{
    const struct op_array *a = &w->out[n];
    int64_t i[FERRY_OP_AXES];
    struct op_number want;
    long double got;

    index_at(&a->o, k, i);
    if (!op_expect(s, n, i, &want))
        kit_fail("the check itself does not know the kind");
    got = arith_get((ferry_dtype)a->o.dtype, a->got, op_place(&a->o, i));
    if (!op_near((ferry_dtype)a->o.dtype, got, &want) &&
        !(accepts && accepts(s, n, i, got)))
        kit_fail("out[%" PRIu32 "]: element %" PRId64 " of %" PRId64
                 " is %.9Lg, should be %.9Lg", n, k, op_count(&a->o), got, want.value);
}

/* Elements around the places where counters and grids end, and `random` others. */
static void check_some(struct op_whole *w, const struct op_scene *s, uint32_t n, int64_t random,
                       op_accepts *accepts)
{
    int64_t count = op_count(&w->out[n].o);

    for (int64_t k = 0; k < 3 && k < count; k++) {
        check_one(w, s, n, k, accepts);
        check_one(w, s, n, count - 1 - k, accepts);
    }
    for (int64_t unit = 64; random > 20 && unit < count; unit *= 2)
        for (int64_t k = unit - 1; k <= unit && k < count; k++) {
            check_one(w, s, n, k, accepts);
            if (k >= 65535 && unit / 65536 * 65535 + k - unit < count)
                check_one(w, s, n, unit / 65536 * 65535 + k - unit, accepts);
        }
    for (int64_t k = 0; k < random; k++)
        check_one(w, s, n, (int64_t)(mixed((uint64_t)k + 77) % (uint64_t)count), accepts);
}

void op_whole_check(struct op_whole *w, int64_t random, op_accepts *accepts)
{
    struct op_view in[FERRY_OP_INPUTS], out[FERRY_OP_OUTPUTS];
    const struct op_scene s = {
        &w->op, op_own_inputs(&w->op), in, out, op_scalars, OP_SEED, OP_OFFSET
    };

    for (uint32_t i = 0; i < w->op.n_in; i++)
        in[i] = op_array_view(&w->in[i]);
    for (uint32_t i = 0; i < w->op.n_out; i++)
        out[i] = op_array_view(&w->out[i]);
    for (uint32_t n = 0; n < w->op.n_out; n++) {
        int64_t count = op_count(&w->out[n].o);

        check_written(w, n);
        if (random < count)
            check_some(w, &s, n, random, accepts);
        for (int64_t k = 0; random >= count && k < count; k++)
            check_one(w, &s, n, k, accepts);
    }
}
