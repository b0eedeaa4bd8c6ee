/* SPDX-License-Identifier: BSD-2-Clause */
/* Fillers: the initial values of parameters. (Caffe: Filler.) */
#include "net/model/state.h"

#include "net/layers/fillers.h"
#include "op/operation.h"

#include <ferry/op.h>
#include <ferry/status.h>

#include <math.h>
#include <string.h>

/*
 * Fills the blob with random numbers on the host: the parameter may be loaded or moved afterwards.
 */
static int draw(const struct ferry__filling *f, ferry_blob *b, uint32_t distribution, double a,
                double spread)
{
    int64_t count = ferry_blob_element_count(b);
    ferry_operation_location out = { ferry_blob_data_memory(b), 0 };
    ferry_operation_args args = { .struct_size = sizeof args, .out = &out, .seed = f->seed };
    ferry_operation *operation;
    ferry_op_desc op;
    int err;

    if (!count)
        return 0;
    ferry_op_desc_init(&op, FERRY_OP_RANDOM);
    op.n_out = 1;
    op.out[0] = ferry_operand_make(FERRY_F32, &count, 1, NULL);
    op.params.random.distribution = distribution;
    op.params.random.a = a;
    op.params.random.b = spread;
    err = ferry__operation_create_on_host(ferry_blob_home(b), &op, &operation);
    if (err)
        return err;
    args.offset = f->offset;
    err = ferry_operation_run(operation, NULL, &args);
    ferry_operation_destroy(operation);
    return err;
}

/*
 * Fills a mask that is 1 for a share of the elements and 0 for the others, with its own random
 * numbers.
 */
static int mask(const struct ferry__filling *f, ferry_blob *like, double share, ferry_blob **out)
{
    struct ferry__filling own = *f;
    int64_t count = ferry_blob_element_count(like);
    int err = ferry_blob_create(ferry_blob_home(like), FERRY_F32, &count, 1, out);

    if (err)
        return err;
    own.offset += (uint64_t)(count + 3) / 4;
    err = draw(&own, *out, FERRY_RANDOM_BERNOULLI, share > 1 ? 1 : share, 1);
    if (err)
        ferry_blob_destroy(*out);
    return err;
}

/* Gaussian numbers, of which about `sparse` per output are kept if that is set. */
static int gaussian(const struct ferry__filling *f, ferry_blob *b)
{
    const ferry_proto *p = f->filler;
    int64_t sparse = ferry_proto_integer(p, "sparse", 0), i;
    ferry_blob *kept;
    const float *keep;
    float *values;
    int err = draw(f, b, FERRY_RANDOM_GAUSSIAN, ferry_proto_real(p, "mean", 0),
                   ferry_proto_real(p, "std", 0));

    if (err || sparse < 0)
        return err;
    if (ferry_blob_rank(b) < 1 || !ferry_blob_dim(b, 0))
        return ferry_proto_error(p, "sparse", 0, FERRY_EFORMAT, "%s has no outputs", f->what);
    err = mask(f, b, (double)sparse / (double)ferry_blob_dim(b, 0), &kept);
    if (err)
        return err;
    keep = ferry_blob_host_data(kept);
    values = keep ? ferry_blob_mutable_host_data(b) : NULL;
    for (i = 0; values && i < ferry_blob_element_count(b); i++)
        values[i] *= keep[i];
    if (!values)
        err = ferry_last_error_code();
    ferry_blob_destroy(kept);
    return err;
}

static int unit_ball(const struct ferry__filling *f, ferry_blob *b)
{
    int err = draw(f, b, FERRY_RANDOM_UNIFORM, 0, 1);

    return err ? err : ferry__fill_unit_ball(b);
}

int ferry__fill(const struct ferry__filling *f, ferry_blob *b)
{
    const ferry_proto *p = f->filler;
    const char *type = ferry_proto_string(p, "type", 0, NULL);
    double scale;

    if (strcmp(type, "gaussian") && ferry_proto_integer(p, "sparse", 0) != -1)
        return ferry_proto_error(p, "sparse", 0, FERRY_EFORMAT,
                                 "%s: only a gaussian filler can be sparse", f->what);
    if (!strcmp(type, "constant"))
        return ferry_blob_fill_data(b, ferry_proto_real(p, "value", 0));
    if (!strcmp(type, "uniform"))
        return draw(f, b, FERRY_RANDOM_UNIFORM, ferry_proto_real(p, "min", 0),
                    ferry_proto_real(p, "max", 0));
    if (!strcmp(type, "gaussian"))
        return gaussian(f, b);
    if (!strcmp(type, "positive_unitball"))
        return unit_ball(f, b);
    if (!strcmp(type, "xavier")) {
        scale = sqrt(3 / ferry__fill_fan(b, p));
        return draw(f, b, FERRY_RANDOM_UNIFORM, -scale, scale);
    }
    if (!strcmp(type, "msra"))
        return draw(f, b, FERRY_RANDOM_GAUSSIAN, 0, sqrt(2 / ferry__fill_fan(b, p)));
    if (!strcmp(type, "bilinear"))
        return ferry__fill_bilinear(p, f->what, b);
    return ferry_proto_error(
        p, "type", 0, FERRY_EFORMAT,
        "%s: unknown filler \"%s\": constant, uniform, gaussian, xavier, msra, positive_unitball "
        "and bilinear are supported",
        f->what, type);
}
