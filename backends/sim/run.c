/* SPDX-License-Identifier: BSD-2-Clause */
/* Executes a prepared operation. */
#include "sim.h"

#include <string.h>

void sim_run_run(const struct sim_run *run, bool fails)
{
    uint32_t first = run->packs ? FROM_PACKED : FROM_OUT(0);

    for (uint32_t i = 0; fails && i < (run->packs ? 1 : run->plan->op.n_out); i++)
        memset(run->on.buffer[first + i], SIM_POISON_FREED, (size_t)run->bytes[i]);
    if (fails)
        return;
    if (run->packs)
        kernel_host_run(&run->plan->pack, &run->on);
    for (uint32_t i = 0; !run->packs && i < run->plan->launches; i++)
        kernel_host_run(&run->plan->launch[i], &run->on);
}
