/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Adoption: memory of the program becomes a copy of a blob's data, instead of one that ferry would
 * allocate. With a deleter ferry owns it from then on.
 */

#define N 8

static void give_back(void *arg)
{
    printf("ferry releases the program's memory\n");
    free(arg);
}

/* Memory that a camera, a decoder or another library has allocated and filled. */
static float *numbers_from_elsewhere(void)
{
    float *numbers = malloc(N * sizeof(*numbers));

    for (int i = 0; numbers && i < N; i++)
        numbers[i] = (float)i;
    return numbers;
}

static int use(ferry_blob *b)
{
    static const float table[N] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    float *numbers = numbers_from_elsewhere();
    ferry_memory *m = ferry_blob_data_memory(b);
    ferry_ref ref = { numbers, 0 };
    double sum = 0;
    int err;

    if (!numbers || !m)
        return FERRY_ENOMEM;
    err = ferry_memory_adopt(m, NULL, ref, N * sizeof(*numbers), 0, give_back, numbers);
    if (err) {
        free(numbers); /* after a failure the program still owns it */
        return err;
    }
    err = ferry_blob_scale_data(b, 2); /* computed on the home device: in that memory if the
                                        * device shares it, otherwise in a copy */
    if (!err)
        err = ferry_blob_asum_data(b, &sum);
    printf("twice the numbers: sum %g\n", sum);
    if (err)
        return err;
    /* Borrowed and read-only: there is no deleter, and a write access fails. */
    ref.handle = (void *)(uintptr_t)table;
    err = ferry_memory_adopt(m, NULL, ref, sizeof(table), FERRY_ADOPT_READONLY, NULL, NULL);
    if (!err)
        err = ferry_blob_asum_data(b, &sum);
    printf("a constant table: sum %g\n", sum);
    if (!err && !ferry_blob_mutable_host_data(b))
        printf("writing there: %s\n", ferry_strerror(ferry_last_error_code()));
    return err;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *b = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
              ferry_blob_create(dev, FERRY_F32, (int64_t[]){ N }, 1, &b) || use(b);

    if (err)
        fprintf(stderr, "adoption: %s\n", ferry_last_error());
    ferry_blob_destroy(b);
    ferry_runtime_close(rt);
    return err;
}
