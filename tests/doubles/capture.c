/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capture of streams, as far as it affects other calls: work submitted to the stream is an error of
 * use (stream_of), and the calls that a thread may make meanwhile depend on the mode of the capture
 * and of the thread. The graph of a program is empty; a library's own is described in graph.c.
 */
#include "double.h"

static _Thread_local CUstreamCaptureMode interaction = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult capture_exchange(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = interaction;

    if (*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    interaction = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    CUstreamCaptureMode wanted = (CUstreamCaptureMode)*mode;
    CUresult failed = capture_exchange(&wanted);

    *mode = (enum cudaStreamCaptureMode)wanted;
    return (cudaError_t)failed;
}

/* Whether this capture forbids unsafe calls of the calling thread. */
static bool forbids(const struct capture *c)
{
    bool own = pthread_equal(c->by, pthread_self()) != 0;

    if (interaction == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (own)
        return c->mode != cudaStreamCaptureModeRelaxed;
    return interaction == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == cudaStreamCaptureModeGlobal;
}

cudaError_t capture_minds(void)
{
    cudaError_t error = cudaSuccess;

    for (struct stream *stream = streams; stream; stream = stream->next)
        if (stream->captured && forbids(&stream->capture)) {
            stream->capture.spoilt = true;
            error = cudaErrorStreamCaptureUnsupported;
        }
    return error;
}

cudaError_t capture_ends(const struct context *context)
{
    cudaError_t error = cudaSuccess;

    for (struct stream *stream = streams; stream; stream = stream->next)
        if (stream->captured && stream->context == context) {
            stream->capture.spoilt = true;
            error = cudaErrorStreamCaptureUnsupported;
        }
    return error;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    struct stream *stream;

    BEGIN(cudaStreamBeginCapture);
    error = stream_of("cudaStreamBeginCapture", context, handle, &stream);
    if (error == cudaSuccess && stream == context->main)
        error = misuse("cudaStreamBeginCapture: of the legacy default stream");
    if (error == cudaSuccess) {
        stream->captured = true;
        stream->capture = (struct capture){ .mode = mode, .by = pthread_self() };
        stream->capture.takes_work = interaction == CU_STREAM_CAPTURE_MODE_RELAXED;
        stream->capture.tail = &stream->capture.head;
    }
    return leave(error);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *out)
{
    const struct stream *stream = (struct stream *)(void *)handle;

    BEGIN(cudaStreamIsCapturing);
    *out = !is_stream(handle) || !stream->captured ? cudaStreamCaptureStatusNone
           : stream->capture.spoilt                ? cudaStreamCaptureStatusInvalidated
                                                   : cudaStreamCaptureStatusActive;
    return leave(error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out)
{
    struct stream *stream = (struct stream *)(void *)handle;
    cudaError_t error;

    lock();
    error = enter("cudaStreamEndCapture");
    if (error != cudaSuccess && is_stream(handle) && stream->captured) { /* it ends all the same */
        stream->captured = false;
        stream->capture.spoilt = true;
        (void)graph_of_capture(stream);
    }
    if (error != cudaSuccess)
        return leave(error);
    if (!is_stream(handle) || !stream->captured)
        return leave(cudaErrorInvalidValue);
    if (stream->capture.mode != cudaStreamCaptureModeRelaxed &&
        !pthread_equal(stream->capture.by, pthread_self()))
        return leave(cudaErrorStreamCaptureWrongThread);
    stream->captured = false;
    *out = stream->capture.takes_work ? (cudaGraph_t)(void *)graph_of_capture(stream) : NULL;
    if (!*out && stream->capture.takes_work && !stream->capture.spoilt)
        return leave(cudaErrorMemoryAllocation);
    return leave(stream->capture.spoilt ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
}
