/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/import/ops.h"

#include <math.h>
#include <string.h>

/*
 * Erf, as exporters write GELU before operator set 20: x · (erf(x / √2) + 1) · 0.5, where the two
 * last factors have any order. No layer computes erf alone, so that the nodes before the last one
 * add none: their values keep x and the function of x so far (enum ferry__import_erf).
 */

/* The operator of the only node that reads output 0; "" if there are more, or it is an output. */
static const char *next_operator(struct ferry__import *im)
{
    const struct ferry__import_value *y =
        ferry__import_value_named(im, ferry_proto_string(im->node, "output", 0, NULL));

    if (im->err || y->output || y->uses != 1 || !y->user)
        return "";
    return ferry_proto_string(y->user, "op_type", 0, NULL);
}

/* Makes output 0 that function of x. */
static void defer(struct ferry__import *im, struct ferry__import_value *x,
                  enum ferry__import_erf stage)
{
    struct ferry__import_value *y =
        ferry__import_value_named(im, ferry_proto_string(im->node, "output", 0, NULL));

    if (im->err)
        return;
    y->erf_of = x;
    y->erf = stage;
    y->shape = x->shape;
    y->blob = x->blob;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-6;
}

/* Whether the value is that number. */
static bool is_number(const struct ferry__import_value *c, double number)
{
    return c->constant && c->tensor.count == 1 &&
           is_near(ferry__import_tensor_real(&c->tensor, 0), number);
}

/* Whether the node is x / √2, and only Erf reads it. */
static bool begins(struct ferry__import *im, const char *operation,
                   const struct ferry__import_value *x, const struct ferry__import_value *u)
{
    bool is_root = (!strcmp(operation, "Div") && is_number(u, sqrt(2.0))) ||
                   (!strcmp(operation, "Mul") && is_number(u, sqrt(0.5)));

    return is_root && !x->constant && !strcmp(next_operator(im), "Erf");
}

/* The function of x that `operation` with u makes of y; FERRY__IMPORT_ERF_NONE: another one. */
static enum ferry__import_erf after(const char *operation, const struct ferry__import_value *y,
                                    const struct ferry__import_value *u)
{
    if (y->erf == FERRY__IMPORT_ERF && !strcmp(operation, "Add") && is_number(u, 1))
        return FERRY__IMPORT_ERF_PLUS_1;
    if (strcmp(operation, "Mul"))
        return FERRY__IMPORT_ERF_NONE;
    if (y->erf == FERRY__IMPORT_ERF_PLUS_1 && u == y->erf_of)
        return FERRY__IMPORT_TWICE_GELU;
    if (y->erf == FERRY__IMPORT_ERF_PLUS_1 && is_number(u, 0.5))
        return FERRY__IMPORT_PHI;
    if ((y->erf == FERRY__IMPORT_TWICE_GELU && is_number(u, 0.5)) ||
        (y->erf == FERRY__IMPORT_PHI && u == y->erf_of))
        return FERRY__IMPORT_GELU;
    return FERRY__IMPORT_ERF_NONE;
}

bool ferry__import_erf_step(struct ferry__import *im, struct ferry__import_value *x,
                            struct ferry__import_value *u)
{
    const char *operation = ferry__import_operator(im), *next = next_operator(im);
    enum ferry__import_erf stage;

    if (u->erf || (!x->erf && x->constant && !strcmp(operation, "Mul"))) {
        struct ferry__import_value *swapped = x;

        x = u;
        u = swapped;
    }
    if (!x->erf) {
        if (!begins(im, operation, x, u))
            return false;
        defer(im, x, FERRY__IMPORT_OVER_ROOT_2);
        return true;
    }
    stage = after(operation, x, u);
    if (stage == FERRY__IMPORT_GELU)
        ferry__import_give(im, 0, ferry__import_map(im, x->erf_of, "GELU", NULL));
    else if (stage && (!strcmp(next, "Mul") || !strcmp(next, "Add")))
        defer(im, x->erf_of, stage);
    else
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "Erf is not a part of GELU here");
    return true;
}

void ferry__import_erf(struct ferry__import *im)
{
    struct ferry__import_value *x = ferry__import_input(im, 0);
    const char *next = next_operator(im);

    if (im->err)
        return;
    if (x->erf != FERRY__IMPORT_OVER_ROOT_2 || (strcmp(next, "Add") && strcmp(next, "Mul")))
        ferry__import_fail(im, FERRY_EUNSUPPORTED, "Erf is not a part of GELU here");
    else
        defer(im, x->erf_of, FERRY__IMPORT_ERF);
}
