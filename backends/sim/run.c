/* SPDX-License-Identifier: BSD-2-Clause */
/* The execution of a prepared operation. */
#include "sim.h"

#include "kernels/host.h"

#include <string.h>

static void launch(const struct sim_run *run, const struct kernel_launch *l)
{
    union kernel_args args = l->args;
    unsigned char *buffers[BUFFERS];

    for (uint32_t i = 0; i < BUFFERS; i++)
        buffers[i] = run->buffer[l->from[i]];
    kernel_seed(l, run->seed, run->offset, &args);
    kernel_scalars(l, run->scalars, &args);
    kernel_host_run(l, &args, buffers);
}

void sim_run_run(const struct sim_run *run, bool fails)
{
    uint32_t first = run->packs ? FROM_PACKED : FROM_OUT(0);

    for (uint32_t i = 0; fails && i < (run->packs ? 1 : run->plan->op.n_out); i++)
        memset(run->buffer[first + i], SIM_POISON_FREED, (size_t)run->bytes[i]);
    if (fails)
        return;
    if (run->packs)
        launch(run, &run->plan->pack);
    for (uint32_t i = 0; !run->packs && i < run->plan->launches; i++)
        launch(run, &run->plan->launch[i]);
}
