/* SPDX-License-Identifier: BSD-2-Clause */
/* libferrykernels: the plans and texts behind the interface of <ferry/kernels.h>. */
#include <ferry/kernels.h>

#include "kernels/descriptor.h"
#include "kernels/places.h"

#include "fingerprint.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FERRY_KERNELS_BUFFERS == BUFFERS, "the header's number of buffers");
_Static_assert(FERRY_KERNELS_LAUNCHES > KERNEL_LAUNCHES, "the launches, and that of packing");

struct ferry_kernels_plan {
    struct kernel_plan plan;
};

/* ---- plans ---------------------------------------------------------------------------------- */

static int target_of(const ferry_kernels_target *from, struct kernel_target *out)
{
    bool is_known = from && from->struct_size >= sizeof(*from) &&
                    !(from->flags & ~(FERRY_KERNELS_DOUBLES | FERRY_KERNELS_EMPTY_INPUTS));

    if (!is_known || from->vec < 1 || from->vec > 16 || (from->vec & (from->vec - 1)) ||
        from->group < 1 || from->busy < 1)
        return FERRY_EINVAL;
    *out = (struct kernel_target){ .vec = from->vec,
                                   .group = from->group,
                                   .busy = from->busy,
                                   .has_f64 = from->flags & FERRY_KERNELS_DOUBLES,
                                   .sums_nothing = from->flags & FERRY_KERNELS_EMPTY_INPUTS };
    return 0;
}

static int make(const ferry_kernels_target *target, const ferry_op_desc *op,
                struct kernel_plan *out)
{
    struct kernel_target known;
    int err = op ? target_of(target, &known) : FERRY_EINVAL;

    return err ? err : kernel_plan_make(&known, op, out);
}

int ferry_kernels_query(const ferry_kernels_target *target, const ferry_op_desc *op,
                        ferry_op_answer *out)
{
    struct kernel_plan p;
    int err = out ? make(target, op, &p) : FERRY_EINVAL;

    if (!err)
        descriptor_answer(&p.answer, out);
    return err;
}

int ferry_kernels_plan_create(const ferry_kernels_target *target, const ferry_op_desc *op,
                              ferry_kernels_plan **out)
{
    ferry_kernels_plan *made;
    int err;

    if (!out)
        return FERRY_EINVAL;
    made = malloc(sizeof(*made));
    if (!made)
        return FERRY_ENOMEM;
    err = make(target, op, &made->plan);
    if (err)
        free(made);
    else
        *out = made;
    return err;
}

void ferry_kernels_plan_destroy(ferry_kernels_plan *plan)
{
    free(plan);
}

uint32_t ferry_kernels_plan_kernels(const ferry_kernels_plan *plan, uint32_t *out)
{
    const struct kernel_plan *p;
    uint32_t n = 0;

    if (!plan || !out)
        return 0;
    p = &plan->plan;
    for (uint32_t i = 0; i < p->launches; i++)
        out[n++] = p->launch[i].kernel;
    if (p->answer.packed_bytes)
        out[n++] = p->pack.kernel;
    return n;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Whether a kernel writes the buffer of FROM_…. */
static bool is_written(uint32_t from, bool packs)
{
    bool is_output = from >= FROM_OUT(0) && from < FROM_OUT(FERRY_OP_OUTPUTS);

    return is_output || from == FROM_WORKSPACE || (from == FROM_PACKED && packs);
}

static ferry_kernels_buffer buffer_of(const struct kernel_place *place, bool written)
{
    return (
        ferry_kernels_buffer){ .ref = { (void *)(uintptr_t)place->ref.handle, place->ref.offset },
                               .bytes = place->bytes,
                               .what = place->what,
                               .is_written = written };
}

/* Passes a launch on; `run` is NULL for packing. */
static int pass(const struct kernel_launch *l, const struct kernel_place *places,
                const ferry_op_run_args *run, ferry_kernels_launcher *launch, void *user)
{
    union kernel_args args;
    ferry_kernels_launch out = { .struct_size = sizeof(out),
                                 .kernel = l->kernel,
                                 .groups = l->groups,
                                 .args_bytes = l->size,
                                 .args = &args };

    if (l->groups <= 0)
        return 0;
    kernel_numbers(l, places, run, &args);
    for (uint32_t i = 0; i < BUFFERS; i++)
        out.buffer[i] = buffer_of(&places[l->from[i]], is_written(l->from[i], !run));
    return launch(user, &out);
}

int ferry_kernels_run(const ferry_kernels_plan *plan, const ferry_op_run_args *args,
                      ferry_kernels_launcher *launch, void *user)
{
    struct kernel_place places[FROM_COUNT];
    int err = 0;

    if (!plan || !args || !launch)
        return FERRY_EINVAL;
    kernel_places_of_run(&plan->plan, args, places);
    for (uint32_t i = 0; i < plan->plan.launches && !err; i++)
        err = pass(&plan->plan.launch[i], places, args, launch, user);
    return err;
}

int ferry_kernels_pack(const ferry_kernels_plan *plan, const ferry_cref *in, ferry_ref packed,
                       ferry_kernels_launcher *launch, void *user)
{
    struct kernel_place places[FROM_COUNT];

    if (!plan || !in || !launch)
        return FERRY_EINVAL;
    if (!plan->plan.answer.packed_bytes)
        return 0;
    kernel_places_of_packing(&plan->plan, in, packed, places);
    return pass(&plan->plan.pack, places, NULL, launch, user);
}

/* ---- texts ---------------------------------------------------------------------------------- */

uint32_t ferry_kernels_fingerprint(void)
{
    return FERRY_KERNELS_FINGERPRINT;
}

int ferry_kernels_count(void)
{
    return KERNEL_COUNT;
}

const char *ferry_kernels_name(uint32_t kernel)
{
    return kernel < KERNEL_COUNT ? kernel_function(kernel) : NULL;
}

int ferry_kernels_program_count(void)
{
    return PROGRAM_COUNT;
}

uint32_t ferry_kernels_program(uint32_t kernel)
{
    return kernel < KERNEL_COUNT ? (uint32_t)kernel_program_of(kernel) : PROGRAM_COUNT;
}

size_t ferry_kernels_text(uint32_t program, const char **out, size_t most)
{
    enum kernel_program known = (enum kernel_program)program;
    size_t n = program < PROGRAM_COUNT ? kernel_program_lines(known, NULL) : 0;

    if (n > 0 && most >= n)
        (void)kernel_program_lines(known, out);
    return n;
}
