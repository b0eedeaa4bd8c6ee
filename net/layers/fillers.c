/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/layers/fillers.h"

#include <ferry/status.h>

#include <math.h>
#include <string.h>

double ferry__fill_fan(const ferry_blob *b, const ferry_proto *filler)
{
    double count = (double)ferry_blob_element_count(b);
    int64_t rows = ferry_blob_rank(b) ? ferry_blob_dim(b, 0) : 1;
    int64_t columns = ferry_blob_rank(b) > 1 ? ferry_blob_dim(b, 1) : 1;
    double in = count / (double)(rows ? rows : 1), out = count / (double)(columns ? columns : 1);
    const char *norm = ferry_proto_enum(filler, "variance_norm", 0);

    return !strcmp(norm, "AVERAGE") ? (in + out) / 2 : !strcmp(norm, "FAN_OUT") ? out : in;
}

int ferry__fill_unit_ball(ferry_blob *b)
{
    int64_t items = ferry_blob_rank(b) ? ferry_blob_dim(b, 0) : 1, i, k, width;
    float *values = ferry_blob_mutable_host_data(b);

    if (!values)
        return ferry_last_error_code();
    width = items ? ferry_blob_element_count(b) / items : 0;
    for (i = 0; i < items; i++) {
        double sum = 0;

        for (k = 0; k < width; k++)
            sum += (double)values[i * width + k];
        for (k = 0; k < width && sum > 0; k++)
            values[i * width + k] = (float)((double)values[i * width + k] / sum);
    }
    return 0;
}

int ferry__fill_bilinear(const ferry_proto *filler, const char *what, ferry_blob *b)
{
    int64_t size, i;
    double factor, centre;
    float *values;

    if (ferry_blob_rank(b) != 4 || ferry_blob_dim(b, 2) != ferry_blob_dim(b, 3))
        return ferry_proto_error(filler, "type", 0, FERRY_EFORMAT,
                                 "%s: a bilinear filler requires square kernels and four axes",
                                 what);
    values = ferry_blob_overwrite_host_data(b);
    if (!values)
        return ferry_last_error_code();
    size = ferry_blob_dim(b, 3);
    factor = ceil((double)size / 2);
    centre = (double)(size - 1) / (2 * factor); /* the formula of Caffe since October 2017 */
    for (i = 0; i < ferry_blob_element_count(b); i++) {
        double x = (double)(i % size), y = (double)(i / size % size);

        values[i] = (float)((1 - fabs(x / factor - centre)) * (1 - fabs(y / factor - centre)));
    }
    return 0;
}
