/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Graphs of the work that a library captures on a stream of its own: kernels, sets and calls of
 * cuDNN. A launch submits copies of the commands, whose blocks must not have been freed since the
 * capture.
 */
#define _GNU_SOURCE
#include "double.h"

#include <stdlib.h>
#include <string.h>

struct node {
    struct command *command; /* never submitted; it names no block as used */
    struct block *blocks[MOST_USES];
    uint64_t serials[MOST_USES];
    const void *addresses[MOST_USES];
    unsigned count;
};

/* A graph, or an executable one. */
struct graph {
    struct graph *next;
    struct context *context;
    struct node *nodes;
    size_t count;
    bool executable;
};

static struct graph *graphs;
unsigned live_graphs;

bool capture_takes(const struct stream *stream, const char *call)
{
    return stream->capture.takes_work &&
           (!strcmp(call, "cuLaunchKernel") || !strncmp(call, "cuMemset", 8) ||
            !strncmp(call, "cudnn", 5));
}

static struct graph **find(const void *handle, bool executable)
{
    struct graph **link = &graphs;

    while (*link && (*link != handle || (*link)->executable != executable))
        link = &(*link)->next;
    return link;
}

static struct graph *graph_new(struct context *context, size_t count, bool executable)
{
    struct graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return NULL;
    graph->nodes = calloc(count ? count : 1, sizeof(*graph->nodes));
    if (!graph->nodes) {
        free(graph);
        return NULL;
    }
    graph->context = context;
    graph->executable = executable;
    graph->next = graphs;
    graphs = graph;
    live_graphs++;
    return graph;
}

static void graph_delete(struct graph **link)
{
    struct graph *graph = *link;

    *link = graph->next;
    for (size_t i = 0; i < graph->count; i++)
        command_delete(graph->nodes[i].command);
    free(graph->nodes);
    free(graph);
    live_graphs--;
}

static struct command *copy_of(const struct command *command)
{
    struct command *copy = command_new(command->call, command->argument_size);

    if (!copy || !copy->argument)
        return NULL;
    copy->run = command->run;
    memcpy(copy->argument, command->argument, command->argument_size);
    return copy;
}

/* The node checks the blocks that the command used. */
static void take(struct node *node, struct command *command)
{
    node->command = command;
    node->count = command->used;
    for (unsigned i = 0; i < command->used; i++) {
        node->blocks[i] = command->uses[i];
        node->serials[i] = command->uses[i]->serial;
        node->addresses[i] = command->uses[i]->address;
        command->uses[i]->users--;
    }
    command->used = 0;
}

struct graph *graph_of_capture(struct stream *stream)
{
    struct command *command, *next;
    struct graph *graph;
    size_t count = 0;

    *stream->capture.tail = NULL;
    for (command = stream->capture.head; command; command = command->next)
        count++;
    graph = stream->capture.spoilt ? NULL : graph_new(stream->context, count, false);
    for (command = stream->capture.head; command; command = next) {
        next = command->next;
        if (graph)
            take(&graph->nodes[graph->count++], command);
        else
            command_delete(command);
    }
    return graph;
}

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t handle)
{
    struct graph *graph, *made;

    BEGIN(cudaGraphInstantiate);
    graph = *find(handle, false);
    if (!graph)
        return leave(misuse("cudaGraphInstantiate: %p is not a graph", (void *)handle));
    made = graph_new(graph->context, graph->count, true);
    for (size_t i = 0; made && i < graph->count; i++) {
        made->nodes[i] = graph->nodes[i];
        made->nodes[i].command = copy_of(graph->nodes[i].command);
        made->count++;
        if (!made->nodes[i].command)
            abort(); /* no memory for a test */
    }
    if (!made)
        return leave(cudaErrorMemoryAllocation);
    *out = (cudaGraphExec_t)(void *)made;
    return leave(cudaSuccess);
}

#if CUDART_VERSION >= 12000
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t handle, unsigned long long flags)
{
    if (flags)
        ferry_cuda_double_misuse("cudaGraphInstantiate: there are flags");
    return instantiate(out, handle);
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t handle, cudaGraphNode_t *node,
                                 char *log, size_t size)
{
    (void)node, (void)log, (void)size;
    return instantiate(out, handle);
}
#endif

static cudaError_t launch_node(struct stream *stream, const struct node *node)
{
    struct command *command = copy_of(node->command);

    if (!command)
        return cudaErrorMemoryAllocation;
    for (unsigned i = 0; i < node->count; i++) {
        struct block *block = block_at(node->addresses[i]);

        if (block != node->blocks[i] || block->serial != node->serials[i]) {
            command_delete(command);
            return misuse("cudaGraphLaunch: %p of a %s was freed", node->addresses[i],
                          node->command->call);
        }
        use(command, block);
    }
    submit(stream, command);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle)
{
    struct graph *graph;
    struct stream *stream;

    BEGIN(cudaGraphLaunch);
    error = stream_of("cudaGraphLaunch", context, stream_handle, &stream);
    graph = *find(handle, true);
    if (error == cudaSuccess && (!graph || graph->context != context))
        error = misuse("cudaGraphLaunch: %p is not an executable graph of this context",
                       (void *)handle);
    for (size_t i = 0; error == cudaSuccess && i < graph->count; i++)
        error = launch_node(stream, &graph->nodes[i]);
    return leave(error);
}

static cudaError_t destroy(const char *call, const void *handle, bool executable)
{
    struct graph **link;
    cudaError_t error;

    lock();
    error = enter(call);
    link = find(handle, executable);
    if (!*link)
        error = misuse("%s: %p is not a graph", call, (void *)(uintptr_t)handle);
    else
        graph_delete(link);
    return leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle)
{
    return destroy("cudaGraphDestroy", handle, false);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle)
{
    return destroy("cudaGraphExecDestroy", handle, true);
}
