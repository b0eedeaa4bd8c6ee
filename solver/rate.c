/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Learning rates, computed with floats as in Caffe, where a power with an integer exponent is a
 * double.
 */
#include "solver/state.h"

#include <math.h>

static float powers(float base, float gamma, int exponent)
{
    return (float)((double)base * pow((double)gamma, exponent));
}

float ferry__rate_of(const ferry_solver *solver, int iter, int step)
{
    const struct ferry__solver_settings *s = &solver->settings;

    switch (s->policy) {
    case FERRY__POLICY_STEP:
        return powers(s->base_lr, s->gamma, iter / s->stepsize);
    case FERRY__POLICY_EXP:
        return powers(s->base_lr, s->gamma, iter);
    case FERRY__POLICY_INV:
        return s->base_lr * powf(1.0f + s->gamma * (float)iter, -s->power);
    case FERRY__POLICY_MULTISTEP:
        return powers(s->base_lr, s->gamma, step);
    case FERRY__POLICY_POLY:
        return s->base_lr * powf(1.0f - (float)iter / (float)s->max_iter, s->power);
    case FERRY__POLICY_SIGMOID:
        return s->base_lr * (1.0f / (1.0f + expf(-s->gamma * ((float)iter - (float)s->stepsize))));
    default: /* FERRY__POLICY_FIXED */
        return s->base_lr;
    }
}

/* The step of multistep at the current iteration: it advances by at most one, as in Caffe. */
static int step_now(const ferry_solver *s)
{
    bool passed = s->current_step < s->settings.n_steps &&
                  s->iter >= ferry_proto_integer(s->proto, "stepvalue", s->current_step);

    return s->current_step + (s->settings.policy == FERRY__POLICY_MULTISTEP && passed);
}

float ferry__rate_now(ferry_solver *s)
{
    int step = step_now(s);

    if (step != s->current_step)
        ferry_log_write(FERRY_LOG_INFO, "MultiStep Status: Iteration %d, step = %d", s->iter, step);
    s->current_step = step;
    if (s->settings.policy == FERRY__POLICY_STEP) /* a snapshot contains the step */
        s->current_step = s->iter / s->settings.stepsize;
    return ferry__rate_of(s, s->iter, s->current_step);
}

double ferry_solver_learning_rate(const ferry_solver *s)
{
    return s ? (double)ferry__rate_of(s, s->iter, step_now(s)) : 0;
}
