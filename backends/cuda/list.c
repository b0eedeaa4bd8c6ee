/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lists of runs that repeat, as CUDA graphs: recorded at their second announcement, replayed from
 * the third on. A recording is the capture of a stream of the plugin's own, the recorder, which
 * nothing else uses. So work that other threads submit to the list's queue meanwhile is not
 * recorded, and no wait for that queue ends the capture. The graph is then launched on the queue.
 * The first failure turns lists off for the device, and ferry submits the runs of the list one by
 * one.
 */
#include "dnn.h"
#include "list.h"

#include <inttypes.h>
#include <stdlib.h>

struct cuda_list {
    struct cuda_list *next;
    uint64_t id, count;
    cudaGraphExec_t graph; /* NULL: the list is being recorded */
};

/* ---- the device's lists ---------------------------------------------------------------------- */

static struct cuda_list *find(struct cuda_device *dev, uint64_t id)
{
    struct cuda_list *list;

    pthread_mutex_lock(&dev->lock);
    for (list = dev->lists.first; list && list->id != id; list = list->next)
        ;
    pthread_mutex_unlock(&dev->lock);
    return list;
}

static struct cuda_list *take(struct cuda_device *dev, uint64_t id)
{
    struct cuda_list **at, *list;

    pthread_mutex_lock(&dev->lock);
    for (at = &dev->lists.first; *at && (*at)->id != id; at = &(*at)->next)
        ;
    list = *at;
    if (list)
        *at = list->next;
    pthread_mutex_unlock(&dev->lock);
    return list;
}

/* Frees a list. Called with the context current; a context that ends frees its graphs. */
static void end_list(struct cuda_list *list)
{
    if (list->graph)
        (void)cudaGraphExecDestroy(list->graph);
    free(list);
}

void cuda_list_forget(void *device, uint64_t id)
{
    struct cuda_device *dev = device;
    struct cuda_list *list = take(dev, id);
    struct cuda_scope scope;

    if (!list)
        return;
    if (cuda_enter(dev, &scope)) {
        free(list);
        return;
    }
    end_list(list);
    cuda_leave(&scope);
}

void cuda_list_end_all(struct cuda_device *dev)
{
    struct cuda_list *next;

    for (struct cuda_list *list = dev->lists.first; list; list = next) {
        next = list->next;
        end_list(list);
    }
    dev->lists.first = NULL;
    cuda_queue_release(dev, &dev->lists.recorder);
}

/* Stops using graphs on the device, since a call that fails once would fail in every pass. */
static void turn_off(struct cuda_device *dev, const char *call, cudaError_t error)
{
    cuda_forget(error);
    dev->lists.use = false;
    cuda_host->log(FERRY_LOG_WARN,
                   "%s: %s: passes are launched operation by operation, not as " CUDA_API " graphs",
                   call, cudaGetErrorName(error));
}

/* ---- recording ------------------------------------------------------------------------------- */

/* Whether this queue becomes the device's recording queue; only one queue records at a time. */
static bool claim(struct cuda_device *dev, struct cuda_queue *queue)
{
    struct cuda_queue *none = NULL;

    return atomic_compare_exchange_strong(&dev->lists.recording, &none, queue);
}

static bool has_recorder(struct cuda_device *dev)
{
    struct cuda_queue *r = &dev->lists.recorder;
    cudaError_t error = cudaSuccess;
    void *handle;

    if (!r->stream) {
        r->owned = true;
        error = cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking);
    }
    if (error != cudaSuccess) {
        r->stream = NULL;
        turn_off(dev, CALL(cudaStreamCreateWithFlags), error);
        return false;
    }
    /* created before the capture, because its creation allocates and may wait for the device, which
     * would end the capture */
    return !dev->dnn || !cuda_dnn_handle(r, &handle);
}

/* Begins to record the runs on the queue; false if it cannot. Called with the context current. */
static bool start(struct cuda_device *dev, struct cuda_queue *queue, const ferry_op_list *told)
{
    struct cuda_list *list = calloc(1, sizeof(*list));
    cudaError_t error;

    if (!list || !claim(dev, queue)) {
        free(list);
        return false;
    }
    if (!has_recorder(dev))
        goto err_leave;
    error = cudaStreamBeginCapture(dev->lists.recorder.stream, cudaStreamCaptureModeRelaxed);
    if (error != cudaSuccess) {
        turn_off(dev, CALL(cudaStreamBeginCapture), error);
        goto err_leave;
    }
    list->id = told->id;
    list->count = told->count;
    pthread_mutex_lock(&dev->lock);
    list->next = dev->lists.first;
    dev->lists.first = list;
    pthread_mutex_unlock(&dev->lock);
    return true;

err_leave:
    atomic_store(&dev->lists.recording, NULL);
    free(list);
    return false;
}

struct cuda_queue *cuda_list_stream(struct cuda_device *dev, struct cuda_queue *queue)
{
    return atomic_load_explicit(&dev->lists.recording, memory_order_relaxed) == queue
               ? &dev->lists.recorder
               : queue;
}

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(out, graph, 0);
#else
    return cudaGraphInstantiate(out, graph, NULL, NULL, 0);
#endif
}

/* Ends a recording. Returns the name of the call that failed; NULL: the list has its graph. */
static const char *stop(struct cuda_device *dev, struct cuda_list *list, cudaError_t *out)
{
    cudaGraph_t graph = NULL;
    const char *failed = CALL(cudaStreamEndCapture);

    *out = cudaStreamEndCapture(dev->lists.recorder.stream, &graph);
    if (*out == cudaSuccess) {
        failed = CALL(cudaGraphInstantiate);
        *out = instantiate(&list->graph, graph);
    }
    if (*out != cudaSuccess)
        list->graph = NULL;
    if (graph)
        (void)cudaGraphDestroy(graph);
    return *out == cudaSuccess ? NULL : failed;
}

/* ---- the entries ----------------------------------------------------------------------------- */

/* Submits the list as its graph; false if that was not possible. */
static bool replay(struct cuda_device *dev, struct cuda_queue *queue, const struct cuda_list *list)
{
    cudaError_t error = cudaGraphLaunch(list->graph, queue->stream);

    if (error == cudaSuccess)
        dev->counters.ops += list->count;
    else
        turn_off(dev, CALL(cudaGraphLaunch), error);
    return error == cudaSuccess;
}

int cuda_list_begin(void *device, void *handle, const ferry_op_list *told, uint32_t *out_action)
{
    struct cuda_device *dev = device;
    struct cuda_queue *queue = cuda_queue_of(dev, handle);
    const struct cuda_list *list;
    struct cuda_scope scope;
    int err;

    *out_action = FERRY_OP_LIST_RUN;
    if (!dev->lists.use || !told->repeats)
        return 0;
    err = cuda_enter_on(dev, handle, &scope);
    if (err)
        return err;
    list = find(dev, told->id);
    if (list && replay(dev, queue, list))
        *out_action = FERRY_OP_LIST_REPLAYED;
    else if (!list && start(dev, queue, told))
        *out_action = FERRY_OP_LIST_RECORD;
    cuda_leave(&scope);
    return 0;
}

int cuda_list_end(void *device, void *handle, uint64_t id, uint32_t discard)
{
    struct cuda_device *dev = device;
    struct cuda_list *list = find(dev, id);
    struct cuda_scope scope;
    cudaError_t error = cudaSuccess;
    const char *failed = NULL;
    int err = list ? cuda_enter(dev, &scope) : FERRY_EINVAL;

    if (err) {
        atomic_store(&dev->lists.recording, NULL);
        free(take(dev, id)); /* the capture ends with the context */
        return err;
    }
    failed = stop(dev, list, &error);
    atomic_store(&dev->lists.recording, NULL);
    if (failed)
        turn_off(dev, failed, error);
    else if (discard)
        dev->lists.use = false; /* ferry has already reported the failure of a run */
    else if (!replay(dev, cuda_queue_of(dev, handle), list))
        failed = CALL(cudaGraphLaunch);
    else
        dev->counters.ops -= list->count; /* each run was already counted */
    if (failed || discard)
        end_list(take(dev, id));
    cuda_leave(&scope);
    return failed && !discard ? cuda_host->error(FERRY_EDEVICE, "%s failed", failed) : 0;
}
