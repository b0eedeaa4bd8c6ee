/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepared operations, the table "ferry.op/1": an operation is a sequence of launches of the
 * kernels in kernels/, according to its plan, or a call of cuDNN.
 */
#include "dnn.h"
#include "kernels.h"
#include "list.h"

#include "kernels/descriptor.h"
#include "kernels/places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct prepared {
    struct cuda_convolution *convolution; /* NULL: launches are used */
    atomic_bool taken_over;               /* cuDNN has failed in a run: launches are used instead */
    struct kernel_plan plan;
    CUfunction launch[KERNEL_LAUNCHES], pack;
};

/* Checks the limit of a grid's first dimension. */
static bool fits(const struct kernel_launch *l)
{
    return l->groups <= CUDA_MOST_GROUPS;
}

static int make_plan(const struct cuda_device *dev, const ferry_op_desc *op, struct kernel_plan *p)
{
    int err = kernel_plan_make(&dev->modules->target, op, p);

    for (uint32_t i = 0; i < p->launches && !err; i++)
        err = fits(&p->launch[i]) ? 0 : FERRY_EUNSUPPORTED;
    if (!err && p->answer.packed_bytes && !fits(&p->pack))
        err = FERRY_EUNSUPPORTED;
    return err;
}

/*
 * Whether cuDNN is used, for which operation, and the query's answer. *out is the kernels' plan
 * with the same answer, so that they can replace cuDNN: constants are not packed, and only the
 * steps in the answer are included.
 */
static bool ask_dnn(const struct cuda_device *dev, const ferry_op_desc *op, ferry_op_desc *same,
                    struct kernel_plan *out, ferry_op_answer *answer)
{
    uint32_t own = descriptor_take(op, same);

    if (!cuda_convolution_query(dev, same, answer))
        return false;
    same->constants = 0;
    same->n_in = own;
    same->n_epilogue = answer->epilogue;
    if (make_plan(dev, same, out) || out->answer.epilogue != answer->epilogue)
        return false;
    if (out->answer.workspace_bytes > answer->workspace_bytes)
        answer->workspace_bytes = out->answer.workspace_bytes;
    return true;
}

static int query(void *device, const ferry_op_desc *op, ferry_op_answer *out)
{
    ferry_op_answer answer;
    struct kernel_plan p;
    ferry_op_desc same;
    int err;

    if (ask_dnn(device, op, &same, &p, &answer)) {
        descriptor_answer(&answer, out);
        return 0;
    }
    err = make_plan(device, op, &p);
    if (!err)
        descriptor_answer(&p.answer, out);
    return err;
}

/* Compiles the programs that the launches need. */
static int find_functions(struct cuda_device *dev, struct prepared *p)
{
    int err = 0;

    for (uint32_t i = 0; i < p->plan.launches && !err; i++)
        err = cuda_modules_function(dev->modules, p->plan.launch[i].kernel, &p->launch[i]);
    if (!err && p->plan.answer.packed_bytes)
        err = cuda_modules_function(dev->modules, p->plan.pack.kernel, &p->pack);
    return err;
}

/*
 * With the context current: creates the operation that query announced. If cuDNN then fails,
 * kernels are used.
 */
static int make(struct cuda_device *dev, const ferry_op_desc *op, struct prepared *p)
{
    ferry_op_answer answer;
    ferry_op_desc same;
    int err = FERRY_EUNSUPPORTED;

    if (ask_dnn(dev, op, &same, &p->plan, &answer)) {
        err = cuda_convolution_create(dev, &same, &p->convolution);
        if (err != FERRY_EUNSUPPORTED)
            return err;
        cuda_host->log(FERRY_LOG_DEBUG,
                       "cuDNN has no algorithm for a convolution; kernels compute it");
        return find_functions(dev, p);
    }
    err = make_plan(dev, op, &p->plan);
    if (err)
        return cuda_host->error(err, "operation %" PRIu32 ", pass %" PRIu32, op->kind, op->pass);
    return find_functions(dev, p);
}

static int create(void *device, const ferry_op_desc *op, void **out_prepared)
{
    struct cuda_device *dev = device;
    struct prepared *p = calloc(1, sizeof(*p));
    struct cuda_scope scope;
    int err;

    if (!p)
        return cuda_host->error(FERRY_ENOMEM, "out of memory for a prepared operation");
    err = cuda_enter(dev, &scope);
    if (!err) {
        err = make(dev, op, p);
        cuda_leave(&scope);
    }
    if (err) {
        free(p);
        return err;
    }
    *out_prepared = p;
    return 0;
}

static void destroy(void *dev, void *prepared)
{
    struct prepared *p = prepared;

    (void)dev;
    if (p->convolution)
        cuda_convolution_destroy(p->convolution);
    free(p);
}

/* ---- launching ------------------------------------------------------------------------------ */

static int check_places(const struct kernel_place *places)
{
    for (uint32_t i = 0; i < FROM_COUNT; i++)
        if (places[i].what && places[i].bytes && !places[i].ref.handle)
            return cuda_host->error(FERRY_EINVAL, "%s: the reference is null", places[i].what);
    return 0;
}

/*
 * Launches one kernel. `run`: the arguments of the run; NULL for packing. Called with the context
 * current.
 */
static int launch(CUstream stream, CUfunction function, const struct kernel_launch *l,
                  const struct kernel_place *places, const ferry_op_run_args *run)
{
    void *base[BUFFERS];
    union kernel_args numbers;

    if (l->groups == 0)
        return 0;
    kernel_numbers(l, places, run, &numbers);
    for (int i = 0; i < BUFFERS; i++)
        base[i] = (void *)(uintptr_t)places[l->from[i]].ref.handle;
    return cuda_launch(stream, function, l, base, &numbers);
}

static int prepare(void *device, void *queue, void *prepared, const ferry_cref *in,
                   ferry_ref packed)
{
    struct cuda_device *dev = device;
    const struct prepared *p = prepared;
    struct kernel_place places[FROM_COUNT];
    struct cuda_scope scope;
    int err;

    if (!p->plan.answer.packed_bytes)
        return 0;
    kernel_places_of_packing(&p->plan, in, packed, places);
    err = check_places(places);
    if (!err)
        err = cuda_enter_on(dev, queue, &scope);
    if (err)
        return err;
    err = launch((CUstream)cuda_queue_of(dev, queue)->stream, p->pack, &p->plan.pack, places, NULL);
    cuda_leave(&scope);
    return err;
}

static int launch_all(CUstream stream, const struct prepared *p, const struct kernel_place *places,
                      const ferry_op_run_args *args)
{
    int err = 0;

    for (uint32_t i = 0; i < p->plan.launches && !err; i++)
        err = launch(stream, p->launch[i], &p->plan.launch[i], places, args);
    return err;
}

/*
 * Replaces cuDNN by kernels for this operation. cuDNN can fail in a run although it has an
 * algorithm, because a missing part of it is noticed only then.
 */
static int take_over(struct cuda_device *dev, struct prepared *p)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int err = 0;

    pthread_mutex_lock(&lock);
    if (!p->taken_over)
        err = find_functions(dev, p);
    if (!err)
        p->taken_over = true;
    pthread_mutex_unlock(&lock);
    if (!err)
        cuda_host->log(FERRY_LOG_WARN,
                       "cuDNN does not run a convolution; kernels compute it from now on");
    return err;
}

/* Runs the operation. Called with the context current. */
static int run_here(struct cuda_device *dev, struct cuda_queue *queue, struct prepared *p,
                    const struct kernel_place *places, const ferry_op_run_args *args)
{
    int err;

    if (p->convolution && !p->taken_over) {
        err = cuda_convolution_run(queue, p->convolution, args);
        if (err != FERRY_EUNSUPPORTED)
            return err;
        err = take_over(dev, p);
        if (err)
            return err;
    }
    return launch_all((CUstream)queue->stream, p, places, args);
}

static int run(void *device, void *queue, void *prepared, const ferry_op_run_args *args)
{
    struct cuda_device *dev = device;
    struct prepared *p = prepared;
    struct kernel_place places[FROM_COUNT];
    struct cuda_scope scope;
    int err;

    dev->counters.ops++;
    if (!p->plan.launches)
        return 0;
    kernel_places_of_run(&p->plan, args, places);
    err = check_places(places);
    if (!err)
        err = cuda_enter_on(dev, queue, &scope);
    if (err)
        return err;
    err = run_here(dev, cuda_list_stream(dev, cuda_queue_of(dev, queue)), p, places, args);
    cuda_leave(&scope);
    return err;
}

static const ferry_op_table table = {
    .struct_size = sizeof(ferry_op_table),
    .query = query,
    .create = create,
    .prepare = prepare,
    .run = run,
    .destroy = destroy,
    .begin = cuda_list_begin,
    .end = cuda_list_end,
    .forget = cuda_list_forget,
};

int cuda_extension(void *device, const char *name, const void **out_table)
{
    struct cuda_device *dev = device;
    struct cuda_scope scope;
    int err;

    if (!strcmp(name, FERRY_PROFILE_EXTENSION)) {
        *out_table = &cuda_profile;
        return 0;
    }
    if (strcmp(name, FERRY_OP_EXTENSION) != 0)
        return cuda_host->error(FERRY_EUNSUPPORTED, "unknown extension \"%.64s\"", name);
    err = cuda_enter(dev, &scope);
    if (err)
        return err;
    err = cuda_modules_check(dev->modules);
    cuda_leave(&scope);
    if (!err)
        *out_table = &table;
    return err;
}
