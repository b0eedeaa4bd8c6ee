/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FERRY_TRITON_SERVER_H
#define FERRY_TRITON_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The part of the Triton server's C interface that the backend uses. The server defines these
 * functions and resolves them when it loads the backend; TRITONBACKEND_Initialize compares the
 * version. Names and values are the server's; it never changes a value within a major version.
 *
 * A function returns NULL on success, else an error that the caller owns. Strings and objects that
 * a function returns belong to the server, unless a comment says otherwise.
 */

/* The version of the interface that has all functions below but the optional ones. */
#define TRITON_MAJOR 1
#define TRITON_MINOR 5

/* Functions of later minor versions are NULL where the server lacks them. */
#define TRITON_OPTIONAL __attribute__((weak))

typedef struct TRITONSERVER_Error TRITONSERVER_Error;
typedef struct TRITONSERVER_Message TRITONSERVER_Message;
typedef struct TRITONSERVER_BufferAttributes TRITONSERVER_BufferAttributes;
typedef struct TRITONBACKEND_Backend TRITONBACKEND_Backend;
typedef struct TRITONBACKEND_Model TRITONBACKEND_Model;
typedef struct TRITONBACKEND_ModelInstance TRITONBACKEND_ModelInstance;
typedef struct TRITONBACKEND_Request TRITONBACKEND_Request;
typedef struct TRITONBACKEND_Input TRITONBACKEND_Input;
typedef struct TRITONBACKEND_Response TRITONBACKEND_Response;
typedef struct TRITONBACKEND_Output TRITONBACKEND_Output;

typedef enum TRITONSERVER_Error_Code {
    TRITONSERVER_ERROR_INTERNAL = 1,
    TRITONSERVER_ERROR_NOT_FOUND = 2,
    TRITONSERVER_ERROR_INVALID_ARG = 3,
    TRITONSERVER_ERROR_UNAVAILABLE = 4,
    TRITONSERVER_ERROR_UNSUPPORTED = 5,
    TRITONSERVER_ERROR_CANCELLED = 7
} TRITONSERVER_Error_Code;

/* The order of the types' names in triton_dtypes (describe.c). */
typedef enum TRITONSERVER_DataType {
    TRITONSERVER_TYPE_INVALID = 0,
    TRITONSERVER_TYPE_UINT8 = 2,
    TRITONSERVER_TYPE_UINT32 = 4,
    TRITONSERVER_TYPE_INT8 = 6,
    TRITONSERVER_TYPE_INT32 = 8,
    TRITONSERVER_TYPE_INT64 = 9,
    TRITONSERVER_TYPE_FP16 = 10,
    TRITONSERVER_TYPE_FP32 = 11,
    TRITONSERVER_TYPE_FP64 = 12,
    TRITONSERVER_TYPE_BF16 = 14
} TRITONSERVER_DataType;

typedef enum TRITONSERVER_MemoryType {
    TRITONSERVER_MEMORY_CPU = 0,
    TRITONSERVER_MEMORY_CPU_PINNED = 1,
    TRITONSERVER_MEMORY_GPU = 2
} TRITONSERVER_MemoryType;

typedef enum TRITONSERVER_InstanceGroupKind {
    TRITONSERVER_INSTANCEGROUPKIND_AUTO = 0,
    TRITONSERVER_INSTANCEGROUPKIND_CPU = 1,
    TRITONSERVER_INSTANCEGROUPKIND_GPU = 2,
    TRITONSERVER_INSTANCEGROUPKIND_MODEL = 3
} TRITONSERVER_InstanceGroupKind;

typedef enum TRITONSERVER_LogLevel {
    TRITONSERVER_LOG_INFO = 0,
    TRITONSERVER_LOG_WARN = 1,
    TRITONSERVER_LOG_ERROR = 2,
    TRITONSERVER_LOG_VERBOSE = 3
} TRITONSERVER_LogLevel;

typedef enum TRITONBACKEND_ArtifactType {
    TRITONBACKEND_ARTIFACT_FILESYSTEM = 0
} TRITONBACKEND_ArtifactType;

/* Flags of RequestRelease and ResponseSend: the request is complete; no response follows. */
#define TRITONSERVER_REQUEST_RELEASE_ALL     1u
#define TRITONSERVER_RESPONSE_COMPLETE_FINAL 1u

/* ---- errors, log, messages ------------------------------------------------------------------ */

TRITONSERVER_Error *TRITONSERVER_ErrorNew(TRITONSERVER_Error_Code code, const char *message);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *error);
const char *TRITONSERVER_ErrorMessage(TRITONSERVER_Error *error);
TRITONSERVER_Error *TRITONSERVER_LogMessage(TRITONSERVER_LogLevel level, const char *file, int line,
                                            const char *message);
/* The caller owns the message. */
TRITONSERVER_Error *TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **out,
                                                              const char *text, size_t size);
TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *message,
                                                        const char **out_text, size_t *out_size);
TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *message);

/* ---- backend and model ---------------------------------------------------------------------- */

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *out_major, uint32_t *out_minor);
TRITONSERVER_Error *TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend *b,
                                                TRITONSERVER_Message **out);
TRITONSERVER_Error *TRITONBACKEND_BackendState(TRITONBACKEND_Backend *b, void **out);
TRITONSERVER_Error *TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend *b, void *state);

TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *m, const char **out);
TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *m, uint64_t *out);
TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *m, TRITONBACKEND_Backend **out);
/* The model's folder, without the version. */
TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *m,
                                                  TRITONBACKEND_ArtifactType *out_type,
                                                  const char **out_path);
/* The configuration as JSON of version 1. The caller owns the message. */
TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *m, uint32_t version,
                                              TRITONSERVER_Message **out);
TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *m, bool *out);
TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *m, uint32_t version,
                                                 TRITONSERVER_Message *config);
TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *m, void **out);
TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *m, void *state);

/* The memory that a model occupies: `count` entries, which the caller keeps. */
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model *m, TRITONSERVER_BufferAttributes **usage,
                                     uint32_t count);
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONSERVER_BufferAttributesNew(TRITONSERVER_BufferAttributes **out);
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONSERVER_BufferAttributesDelete(TRITONSERVER_BufferAttributes *a);
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONSERVER_BufferAttributesSetMemoryType(TRITONSERVER_BufferAttributes *a,
                                           TRITONSERVER_MemoryType type);
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONSERVER_BufferAttributesSetMemoryTypeId(TRITONSERVER_BufferAttributes *a, int64_t id);
TRITON_OPTIONAL TRITONSERVER_Error *
TRITONSERVER_BufferAttributesSetByteSize(TRITONSERVER_BufferAttributes *a, size_t size);

/* ---- instances ------------------------------------------------------------------------------ */

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance *i,
                                                    const char **out);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *i,
                                                    TRITONSERVER_InstanceGroupKind *out);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *i,
                                                        int32_t *out);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *i,
                                                     TRITONBACKEND_Model **out);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *i, void **out);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *i,
                                                        void *state);
/* Times are nanoseconds of the steady clock: begin, inputs ready, outputs computed, end. */
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *i,
                                                                TRITONBACKEND_Request *r,
                                                                bool success, uint64_t begin,
                                                                uint64_t compute_begin,
                                                                uint64_t compute_end, uint64_t end);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *i,
                                                                     uint64_t batch, uint64_t begin,
                                                                     uint64_t compute_begin,
                                                                     uint64_t compute_end,
                                                                     uint64_t end);

/* ---- requests and responses ----------------------------------------------------------------- */

TRITON_OPTIONAL TRITONSERVER_Error *TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request *r,
                                                                     bool *out);
TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *r, const char *name,
                                               TRITONBACKEND_Input **out);
TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *r, uint32_t *out);
TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *r, uint32_t index,
                                                    const char **out);
TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *r, uint32_t flags);
/* Each output pointer may be NULL. `size` is the sum of all buffers, in bytes. */
TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *i, const char **name,
                                                  TRITONSERVER_DataType *type,
                                                  const int64_t **shape, uint32_t *rank,
                                                  uint64_t *size, uint32_t *buffers);
/* On entry *type and *type_id are what the caller prefers, on return what the buffer is. */
TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *i, uint32_t index,
                                              const void **out, uint64_t *out_size,
                                              TRITONSERVER_MemoryType *type, int64_t *type_id);
TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **out,
                                              TRITONBACKEND_Request *r);
TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *r,
                                                 TRITONBACKEND_Output **out, const char *name,
                                                 TRITONSERVER_DataType type, const int64_t *shape,
                                                 uint32_t rank);
/* Memory for an output; types as for InputBuffer. */
TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *o, void **out, uint64_t size,
                                               TRITONSERVER_MemoryType *type, int64_t *type_id);
/* Sends the response, or the error in its place; takes over the response, not the error. */
TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *r, uint32_t flags,
                                               TRITONSERVER_Error *error);

/* ---- functions of the backend, called by the server ------------------------------------------ */

#define TRITON_EXPORT __attribute__((visibility("default")))

TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *b);
TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_Finalize(TRITONBACKEND_Backend *b);
TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m);
TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *m);
TRITON_EXPORT TRITONSERVER_Error *
TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *i);
TRITON_EXPORT TRITONSERVER_Error *
TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *i);
/* After success the requests belong to the backend, which answers and releases each. */
TRITON_EXPORT TRITONSERVER_Error *
TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests,
                                   uint32_t count);

#endif
