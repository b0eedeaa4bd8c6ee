/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the files of the OpenCL plugin share.
 *
 * A handle of this plugin is a cl_mem. Each device has one lock, which guards its queues' pending
 * work, its events and its counters; no call that may block, and no OpenCL call that enqueues, runs
 * under it.
 */
#ifndef FERRY_OPENCL_H
#define FERRY_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <ferry/plugin.h>
#include <ferry/profile_plugin.h>

#include "integer.h"
#include "kernels/plan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* ---- errors.c ---- */

extern const ferry_host *ocl_host; /* set by ferry_plugin_open */

/* The name of an error of OpenCL or CLBlast; "error -9999" for an unknown one. */
const char *ocl_error_name(int error);
/* The code of ferry for an error that `call` returned. */
int ocl_error_code(int error);
/* Reports to the host that `call` returned `error`; returns the code. */
int ocl_fail(const char *call, int error);

/* ---- options.c ---- */

enum ocl_switch { OCL_AUTO, OCL_ON, OCL_OFF };
enum ocl_arithmetic { OCL_MEASURED, OCL_OWN, OCL_CLBLAST };
enum ocl_sums { OCL_SUMS_BY_TYPE, OCL_DOUBLE_SUMS, OCL_FLOAT_SUMS };
enum ocl_items { OCL_BY_TYPE, OCL_FEW, OCL_MANY };

struct ocl_settings {
    const char *platform; /* "": any platform */
    cl_device_type type;
    const char *type_name;
    enum ocl_switch zero_copy, f16, f64, cache;
    enum ocl_arithmetic arithmetic;
    enum ocl_sums sums;
    enum ocl_items items;
    bool profiling, command_buffers;
};

#define OCL_OPTIONS 11u

extern const ferry_plugin_option ocl_options[OCL_OPTIONS];

/* Reads all options from the host, which allows that in some entries only. FERRY_ECONF. */
int ocl_settings_read(struct ocl_settings *out);

/* ---- icd.c ---- */

/*
 * Logs each driver that the ICD loader was configured to load and could not; the reason of the
 * first is copied to `first`. Returns their number.
 */
unsigned ocl_icd_check(char *first, size_t size);

/* ---- platform.c ---- */

/* CL_PLATFORM_NOT_FOUND_KHR: there is no driver. */
#define OCL_PLATFORM_NOT_FOUND (-1001)

/* A device that the enumeration found. */
struct ocl_unit {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    char platform_name[64];
};

/* Enumerates the devices, once per process. */
int ocl_units_find(void);
const struct ocl_unit *ocl_unit_at(uint32_t index);        /* NULL beyond the last */
uint32_t ocl_unit_index(cl_device_id id);                  /* UINT32_MAX if it was not enumerated */
bool ocl_has_extension(cl_device_id id, const char *name); /* whether the device has that
                                                            * extension */
/* A string of a device or platform, truncated to fit; "" if there is none. */
void ocl_device_string(cl_device_id id, cl_device_info what, char *out, size_t size);
void ocl_platform_string(cl_platform_id id, cl_platform_info what, char *out, size_t size);
bool ocl_is_called(cl_device_id id, const char *name); /* whether the device's name begins with it
                                                        */

int ocl_device_count(void *plugin, uint32_t *out);
int ocl_properties(void *plugin, uint32_t index, void *dev, ferry_plugin_properties *out);

/* ---- context.c: contexts, and the programs built in them ---- */

#define OCL_FLOATS 4u /* F32, F64, F16 and BF16: dtypes 0 to 3 */

/* The variants of the kernels: for few work-items, and with doubles. */
#define OCL_FEW_ITEMS 1u
#define OCL_DOUBLES   2u
#define OCL_VARIANTS  4u

/*
 * A context of the program or of the plugin. The plugin's contexts live as long as the process, so
 * that the plugin and CLBlast find compiled programs when the device is opened again.
 */
struct ocl_context {
    struct ocl_context *next;
    cl_context context;
    cl_device_id id;
    bool adopted;
    bool cache; /* compiled programs of the context are stored on disk */
    pthread_mutex_t build_lock;
    cl_program arithmetic[OCL_VARIANTS][OCL_FLOATS];
    cl_program convert[OCL_VARIANTS][FERRY_DTYPE_COUNT][FERRY_DTYPE_COUNT];
    cl_program operations[2][OCL_PROGRAM_COUNT]; /* for many items, and for few */
};

/* The plugin's context for a device, created if necessary. */
int ocl_context_of(const struct ocl_unit *unit, struct ocl_context **out);
int ocl_context_adopt(cl_context context, cl_device_id id, struct ocl_context **out);
void ocl_context_release(struct ocl_context *context); /* Releases a context of the program; the
                                                        * plugin's own contexts stay. */
/* The program for a dtype's arithmetic, or for one conversion; built on first use. */
int ocl_program_arithmetic(struct ocl_context *c, unsigned variant, uint32_t dtype,
                           cl_program *out);
int ocl_program_convert(struct ocl_context *c, unsigned variant, uint32_t from, uint32_t to,
                        cl_program *out);
/* Builds a source, or loads its binary from disk; the compiler's errors go to the log. */
int ocl_program_build(const struct ocl_context *c, const char *const *lines, size_t count,
                      const char *options, cl_program *out);

/* ---- list.c, queue.c, event.c ---- */

enum ocl_kernel {
    OCL_K_AXPY,
    OCL_K_SCAL,
    OCL_K_DOT,
    OCL_K_ASUM,
    OCL_K_SUMSQ,
    OCL_K_FINISH,
    OCL_K_GEMV,
    OCL_K_GEMV_ALONG,
    OCL_K_GEMM,
    OCL_KERNELS
};

/* An enqueued command that is not known to have ended. */
struct ocl_pending {
    cl_event event;
    const char *what;
};

struct ocl_failure {
    int error; /* an OpenCL error; 0: no error */
    const char *what;
};

struct ocl_list {
    struct ocl_pending *at;
    size_t count, room;
};

struct ocl_event {
    struct ocl_event *next, **link; /* in its queue's list, until it is done */
    struct ocl_queue *queue;        /* NULL once it is done */
    cl_event marker;
    struct ocl_list before; /* the queue's commands since the event before this one */
    struct ocl_failure failure;
};

/*
 * A kernel, and the largest group that the driver can run it in: registers and local memory of the
 * kernel may make that less than the device's limit.
 */
struct ocl_runnable {
    cl_kernel kernel; /* NULL: not created yet */
    size_t most;
};

/*
 * A section of profile.c: the commands that were enqueued between begin and end, because the queue
 * is in order.
 */
struct ocl_section {
    struct ocl_section *next; /* the next open section of the queue */
    cl_event first, last;     /* NULL: no command; a single command is both */
};

/* An in-order queue with its own kernel objects, because clSetKernelArg is not thread-safe. */
struct ocl_queue {
    struct ocl_queue *next;
    struct ocl_device *dev;
    cl_command_queue q;
    bool own;                     /* created by the plugin */
    bool known;                   /* the program has got `q`; guarded by the device's lock */
    cl_command_queue spare;       /* for profile.c; NULL until first needed */
    bool exchanged;               /* `q` is the queue that measures, `spare` the other one */
    struct ocl_section *sections; /* the open sections */
    struct ocl_list pending;
    unsigned gathered;            /* the number of commands since the latest flush */
    struct ocl_event *events;     /* the events that are not done yet */
    struct ocl_failure for_event; /* the failure of commands that are no longer pending */
    struct ocl_failure for_sync;
    struct ocl_runnable kernels[OCL_FLOATS][OCL_KERNELS];
    struct ocl_runnable convert[FERRY_DTYPE_COUNT][FERRY_DTYPE_COUNT];
    cl_kernel operations[OCL_KERNEL_COUNT];
    struct ocl_recording *recording; /* the recording that receives the runs; NULL: they are
                                      * enqueued */
    cl_mem partials; /* for the partial sums of reductions */
};

/* Whether the command has ended; *error is its failure, if it failed. */
bool ocl_command_ended(cl_event event, int *error);
/* Removes commands that have ended; the first failure among them is stored in *failure. (locked) */
void ocl_list_reap(struct ocl_device *dev, struct ocl_list *list, struct ocl_failure *failure);
/* Makes room for one more command. */
bool ocl_list_grow(struct ocl_list *list);
/* Adds an enqueued command to the queue's open sections. (locked) */
void ocl_section_note(struct ocl_queue *queue, cl_event event);

/* Initializes a queue around `q`, which is retained; `own`: the plugin has created it. */
int ocl_queue_init(struct ocl_queue *queue, struct ocl_device *dev, cl_command_queue q, bool own);
void ocl_queue_fini(struct ocl_queue *queue);
/*
 * Stores the queue's cl_command_queue for the program; from then on it is not exchanged any more.
 */
void ocl_queue_show(struct ocl_queue *queue, void *out);
/* Keeps an enqueued command until an event or a wait examines it. */
int ocl_queue_note(struct ocl_queue *queue, const char *what, cl_event event);
/* Creates a cl_command_queue; one that measures its commands if `profiling`. */
int ocl_queue_new(struct ocl_device *dev, bool profiling, cl_command_queue *out);
/* Checks that `q` is an in-order queue of that context and device; FERRY_EINVAL. */
int ocl_queue_check(cl_command_queue q, cl_context context, cl_device_id id);

/* Releases the queue's events that are done. (locked) */
void ocl_events_settle(struct ocl_queue *queue);
/* Detaches the events of a queue that is destroyed, whose work is done. (locked) */
void ocl_events_forget(struct ocl_queue *queue);

int ocl_synchronize(void *dev);
int ocl_queue_create(void *dev, uint32_t flags, void **out_queue);
int ocl_queue_destroy(void *dev, void *queue);
int ocl_queue_synchronize(void *dev, void *queue);
int ocl_queue_wrap(void *dev, void *native, void **out_queue);
int ocl_queue_native(void *dev, void *queue, const char *what, void *out, uint64_t size);
int ocl_event_record(void *dev, void *queue, void **out_event);
int ocl_event_query(void *dev, void *event);
int ocl_event_synchronize(void *dev, void *event);
int ocl_event_destroy(void *dev, void *event);
int ocl_queue_wait(void *dev, void *queue, void *event);

/* ---- command_buffer.c: lists of runs that repeat ---- */

typedef struct ocl_command_buffer_object *ocl_command_buffer;

/*
 * The functions of cl_khr_command_buffer, whose declarations some versions of <CL/cl_ext.h> lack;
 * and the recordings of a device, guarded by its lock.
 */
struct ocl_command_buffers {
    _Atomic(bool) use;
    bool simultaneous; /* a command buffer may be enqueued again while it is pending */
    ocl_command_buffer(CL_API_CALL *create)(cl_uint, const cl_command_queue *, const cl_bitfield *,
                                            cl_int *);
    cl_int(CL_API_CALL *finalize)(ocl_command_buffer);
    cl_int(CL_API_CALL *release)(ocl_command_buffer);
    cl_int(CL_API_CALL *enqueue)(cl_uint, cl_command_queue *, ocl_command_buffer, cl_uint,
                                 const cl_event *, cl_event *);
    cl_int(CL_API_CALL *kernel)(ocl_command_buffer, cl_command_queue, const cl_bitfield *,
                                cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *,
                                cl_uint, const cl_uint *, cl_uint *, void *);
    struct ocl_recording *first;
    struct ocl_recorded *spare; /* kernels of former recordings */
};

/* Finds the extension's functions, if the device has it and the options permit it. */
void ocl_command_buffers_open(struct ocl_device *dev);
void ocl_command_buffers_close(struct ocl_device *dev);
/* Creates a kernel object for the queue's recording. */
int ocl_list_kernel(struct ocl_queue *queue, uint32_t id, cl_program program, cl_kernel *out);
/* Records a kernel whose arguments are set; some of its BUFFERS buffers may be NULL. */
int ocl_list_take(struct ocl_queue *queue, size_t global, size_t local, const cl_mem *mems);
/* Frees the recordings that use a buffer, which is being released. */
void ocl_list_forget_buffer(struct ocl_device *dev, const void *mem);
int ocl_list_begin(void *dev, void *queue, const ferry_op_list *list, uint32_t *out_action);
int ocl_list_end(void *dev, void *queue, uint64_t id, uint32_t discard);
void ocl_list_forget(void *dev, uint64_t id);

/* ---- device.c ---- */

#define OCL_PAGE 4096u

struct ocl_device {
    struct ocl_context *context;
    cl_platform_id platform;
    cl_device_id id;
    struct ocl_settings set;
    bool fp64, f16, zero_copy;
    bool plain;      /* host blocks are plain memory, which the device accesses in place */
    bool float_sums; /* sums of types other than F64 are floats */
    bool few;        /* work-items that each process a long range, for CPUs */
    bool dots;       /* products of four bytes are faster than those of floats */
    unsigned variant;
    uint32_t index, cores;
    uint64_t max_alloc, max_group, base_align, host_align;
    atomic_uint next_place;      /* the offset of the next large host block, rotating */
    atomic_uint without_clblast; /* bit op, plus 16 for F64: CLBlast failed, so that ferry's own
                                  * kernels are used */
    pthread_mutex_t lock;
    struct kernel_target target;  /* for prepared operations */
    struct ocl_command_buffers buffers;
    struct ocl_queue main, setup; /* main: the default queue; setup: a queue for commands that do
                                   * not wait for others */
    struct ocl_queue *queues;
    void *host_blocks; /* a tree of all host blocks by address */
    void *lent_blocks; /* a tree of the imported host blocks by buffer */
    void *mapped;      /* a tree of the imported buffers that are mapped */
    ferry_plugin_counters counters;
};

static inline void ocl_lock(struct ocl_device *dev)
{
    pthread_mutex_lock(&dev->lock);
}

static inline void ocl_unlock(struct ocl_device *dev)
{
    pthread_mutex_unlock(&dev->lock);
}

/* The queue of a handle of the ABI. */
static inline struct ocl_queue *ocl_queue_of(struct ocl_device *dev, void *handle)
{
    return handle ? handle : &dev->main;
}

/* Whether host and device share memory, according to the device and the option. */
/* Whether the device is the host's processor. */
bool ocl_is_processor(cl_device_id id);
bool ocl_is_unified(cl_device_id id, cl_device_type type, enum ocl_switch zero_copy);

int ocl_device_open(void *plugin, uint32_t index, void **out_dev);
void ocl_device_close(void *dev);
int ocl_memory_info(void *dev, uint64_t *out_free, uint64_t *out_total);
int ocl_counters(void *dev, ferry_plugin_counters *out);
int ocl_native(void *dev, const char *what, void *out, uint64_t size);
int ocl_adopt(void *plugin, const char *const *names, void *const *values, uint64_t n,
              void **out_dev, uint32_t *out_index);

/* ---- memory.c ---- */

/* Checks that `bytes` from the reference on are inside its buffer. FERRY_EINVAL. */
int ocl_range_check(const char *side, const void *handle, uint64_t offset, uint64_t bytes);

int ocl_alloc(void *dev, void *queue, uint64_t bytes, uint32_t flags, void **out_handle,
              uint32_t *out_flags);
int ocl_free(void *dev, void *queue, void *handle);
int ocl_memcpy(void *dev, void *queue, uint32_t kind, ferry_ref dst, ferry_cref src,
               uint64_t bytes);
int ocl_memset(void *dev, void *queue, ferry_ref dst, uint32_t byte, uint64_t bytes);
int ocl_copy(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref y);
int ocl_fill(void *dev, void *queue, uint32_t dtype, int64_t n, double value, ferry_ref y);
int ocl_peer_access(void *dst_dev, void *src_dev);
int ocl_peer_copy(void *dst_dev, void *queue, ferry_ref dst, void *src_dev, ferry_cref src,
                  uint64_t bytes);

/* ---- hostmem.c: memory that host and device share ---- */

int ocl_host_alloc(void *dev, uint64_t bytes, uint32_t flags, void **out_ptr, uint32_t *out_flags);
int ocl_host_free(void *dev, void *ptr);
int ocl_import_host(void *dev, void *ptr, uint64_t bytes, uint32_t flags, void **out_handle);
int ocl_unimport_host(void *dev, void *handle);
int ocl_map(void *dev, void *queue, void *handle, uint64_t bytes, uint32_t access);
int ocl_unmap(void *dev, void *queue, void *handle);

/* ---- element.c ---- */

uint64_t ocl_element_size(uint32_t dtype); /* 0 for an invalid type */
/* Encodes `value` as one element, rounded to nearest even; returns its size. */
size_t ocl_element_encode(uint32_t dtype, double value, void *out);

/* ---- arith.c: the choice of the implementation;  kernels.c: ferry's;  blas.c: CLBlast's -- */

struct ocl_vector {
    cl_mem mem;
    uint64_t first; /* in elements */
    int64_t inc;
};

struct ocl_matrix {
    cl_mem mem;
    uint64_t first; /* in elements */
    int64_t ld;
    bool trans;
};

struct ocl_product {
    uint32_t dtype;
    int64_t m, n, k;
    double alpha, beta;
    struct ocl_matrix a, b, c;
    struct ocl_vector x, y;
};

int ocl_own_vector(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                   double alpha, struct ocl_vector x, struct ocl_vector y);
int ocl_own_reduce(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                   struct ocl_vector x, struct ocl_vector y, struct ocl_vector result);
int ocl_own_gemv(struct ocl_queue *queue, const struct ocl_product *p);
int ocl_own_gemm(struct ocl_queue *queue, const struct ocl_product *p);
int ocl_own_convert(struct ocl_queue *queue, uint32_t from, uint32_t to, int64_t n,
                    struct ocl_vector x, struct ocl_vector y);

int ocl_blas_axpy(struct ocl_queue *queue, uint32_t dtype, int64_t n, double alpha,
                  struct ocl_vector x, struct ocl_vector y);
int ocl_blas_scal(struct ocl_queue *queue, uint32_t dtype, int64_t n, double alpha,
                  struct ocl_vector x);
int ocl_blas_reduce(struct ocl_queue *queue, enum ocl_kernel k, uint32_t dtype, int64_t n,
                    struct ocl_vector x, struct ocl_vector y, struct ocl_vector result);
int ocl_blas_gemv(struct ocl_queue *queue, const struct ocl_product *p);
int ocl_blas_gemm(struct ocl_queue *queue, const struct ocl_product *p);

int ocl_supports(void *dev, uint32_t op, uint32_t dtype);
int ocl_supports_convert(void *dev, uint32_t x_dtype, uint32_t y_dtype);
int ocl_axpy(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_cref x,
             ferry_ref y);
int ocl_scal(void *dev, void *queue, uint32_t dtype, int64_t n, double alpha, ferry_ref x);
int ocl_convert(void *dev, void *queue, int64_t n, uint32_t x_dtype, ferry_cref x, uint32_t y_dtype,
                ferry_ref y);
int ocl_dot(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_cref y,
            ferry_ref result);
int ocl_asum(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int ocl_sumsq(void *dev, void *queue, uint32_t dtype, int64_t n, ferry_cref x, ferry_ref result);
int ocl_gemv(void *dev, void *queue, uint32_t dtype, uint32_t trans, int64_t m, int64_t n,
             double alpha, ferry_cref a, int64_t lda, ferry_cref x, int64_t incx, double beta,
             ferry_ref y, int64_t incy);
int ocl_gemm(void *dev, void *queue, uint32_t dtype, uint32_t trans_a, uint32_t trans_b, int64_t m,
             int64_t n, int64_t k, double alpha, ferry_cref a, int64_t lda, ferry_cref b,
             int64_t ldb, double beta, ferry_ref c, int64_t ldc);

/* ---- profile.c ---- */

extern const ferry_profile_table ocl_profile;

/* ---- operation.c: prepared operations ---- */

/* The parameters with which the kernels of kernels/ are compiled for this device. */
void ocl_target_of(const struct ocl_device *dev, struct kernel_target *out);
/*
 * Whether the device reports that it accelerates the products of four bytes that integer.cl uses
 * (cl_khr_integer_dot_product).
 */
bool ocl_has_dots(const struct ocl_device *dev);
int ocl_extension(void *dev, const char *name, const void **out_table);

#endif
