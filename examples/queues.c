/* SPDX-License-Identifier: BSD-2-Clause */
#include <ferry/ferry.h>
#include <stdio.h>

/*
 * Queues and events. Work on one queue runs in order; work on two queues runs concurrently unless
 * an event orders it. A blob that is accessed on the queue of the work needs no event: ferry orders
 * that access.
 */

#define N 1000

/* Creates a second queue, or returns the default one if the plugin supports only that. */
static ferry_queue *further_queue(ferry_device *dev)
{
    ferry_queue *q;

    return ferry_queue_create(dev, &q) ? ferry_device_queue(dev) : q;
}

/*
 * x = 2 on one queue, and y += 3·x on another, which waits for the first; the host does not wait.
 */
static int compute(ferry_queue *one, ferry_queue *two, ferry_blob *x, ferry_blob *y)
{
    ferry_device *dev = ferry_queue_device(one);
    ferry_event *filled = NULL;
    ferry_ref x_on_one, x_on_two, y_on_two;
    int err = ferry_blob_access(x, FERRY_DATA, dev, FERRY_WRITE, one, &x_on_one);

    if (!err)
        err = ferry_math_fill(one, FERRY_F32, N, 2, x_on_one);
    if (!err)
        err = ferry_event_record(one, &filled); /* a point after the fill */
    if (!err)
        err = ferry_queue_wait_event(two, filled); /* the calling thread continues at once */
    if (!err)
        err = ferry_blob_access(x, FERRY_DATA, dev, FERRY_READ, two, &x_on_two);
    if (!err)
        err = ferry_blob_access(y, FERRY_DATA, dev, FERRY_READ | FERRY_WRITE, two, &y_on_two);
    if (!err)
        err = ferry_math_axpy(two, FERRY_F32, N, 3, ferry_ref_const(x_on_two), y_on_two);
    ferry_event_destroy(filled); /* allowed before it is complete: the queue keeps what it needs */
    return err;
}

int main(void)
{
    ferry_runtime *rt = NULL;
    ferry_device *dev = NULL;
    ferry_blob *x = NULL, *y = NULL;
    ferry_queue *q = NULL;
    const float *values = NULL;
    int err = ferry_runtime_open(NULL, &rt) || ferry_runtime_get_device(rt, NULL, &dev) ||
              ferry_blob_create(dev, FERRY_F32, (int64_t[]){ N }, 1, &x) ||
              ferry_blob_create(dev, FERRY_F32, (int64_t[]){ N }, 1, &y) ||
              ferry_blob_fill_data(y, 1);

    if (!err) {
        q = further_queue(dev);
        err = compute(ferry_device_queue(dev), q, x, y);
    }
    if (!err)
        values = ferry_blob_host_data(y); /* waits for the queue of y's latest access */
    if (values)
        printf("y = 1 + 3 * 2: %g ... %g\n", (double)values[0], (double)values[N - 1]);
    else
        fprintf(stderr, "queues: %s\n", ferry_last_error());
    ferry_queue_destroy(q); /* ignores a default queue */
    ferry_blob_destroy(x);
    ferry_blob_destroy(y);
    ferry_runtime_close(rt);
    return !values;
}
