/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file kernels.h
 * The kernels with which ferry's own plugins compute operations, for other plugins: plans, which
 * turn an operation or a backward pass into launches, and the texts of the kernels.
 *
 * The library is libferrykernels (pkg-config ferrykernels). A text is compiled by OpenCL, nvcc or
 * NVRTC, Slang (for Vulkan) and C compilers. kernels/dialect.h describes its language and has a
 * branch for each compiler; it is installed with the texts in pkg-config's variable `sourcedir`.
 *
 * A kernel has FERRY_KERNELS_BUFFERS buffers and one structure of arguments, which is passed by
 * value or in memory: kernels/args.h. It runs in groups of `group` items, in one dimension. The
 * launches of a plan run one after the other.
 *
 * Texts, arguments and numbers of kernels belong together, and may differ in another version of
 * the library. ferry_kernels_fingerprint identifies them: a plugin that stores compiled programs
 * compares it, and so does one whose programs were compiled when the plugin was built.
 *
 * All functions may be called from any thread, and none sets an error's message.
 */
#ifndef FERRY_KERNELS_H
#define FERRY_KERNELS_H

#include <ferry/op_plugin.h>

#include <stddef.h>

FERRY_BEGIN_DECLS

/** The number of a kernel's buffers, b0 to b5. */
#define FERRY_KERNELS_BUFFERS 6u

/** The maximum of ferry_kernels_plan_kernels: the launches of a run and that of packing. */
#define FERRY_KERNELS_LAUNCHES 4u

/** A flag of a target: the device computes with doubles; STRIDED_COPY converts all dtypes. */
#define FERRY_KERNELS_DOUBLES 1u
/** A flag of a target: a kernel accepts a buffer without bytes. Inputs may have no elements. */
#define FERRY_KERNELS_EMPTY_INPUTS 2u

/** How the kernels are compiled, and the size of the device. */
typedef struct ferry_kernels_target {
    uint32_t struct_size;
    uint32_t vec;   /* the number of lanes of a vector, the macro VEC: 1, 2, 4, 8 or 16 */
    uint32_t group; /* the number of items of a group, the macro GROUP: 1 or more; 1 for a CPU */
    uint32_t busy;  /* the number of groups that keep the device busy: 1 or more */
    uint32_t flags; /* FERRY_KERNELS_DOUBLES, FERRY_KERNELS_EMPTY_INPUTS */
} ferry_kernels_target;

/** An operation that is divided into launches. Opaque and immutable. */
typedef struct ferry_kernels_plan ferry_kernels_plan;

/**
 * A buffer of a launch. The launcher passes the handle: the kernel adds the offset, which is among
 * its arguments. The handle of an input is not const, because a device's call that sets an argument
 * has one type for all of them.
 */
typedef struct ferry_kernels_buffer {
    ferry_ref ref;       /* {NULL, 0} if the kernel does not use the buffer */
    uint64_t bytes;      /* the bytes that it spans, from the offset; not checked by the library */
    const char *what;    /* for messages: "an output"; NULL if the kernel does not use the buffer */
    uint32_t is_written; /* 1: the kernel writes it, and may read it; 0: it only reads it */
} ferry_kernels_buffer;

/** A launch. The arguments are borrowed for the call that receives it. */
typedef struct ferry_kernels_launch {
    uint32_t struct_size;
    uint32_t kernel; /* below ferry_kernels_count() */
    int64_t groups;  /* 1 or more: about the target's `busy`, or more if there are more filters */
    uint64_t args_bytes;
    const void *args; /* the kernel's structure of kernels/args.h */
    ferry_kernels_buffer buffer[FERRY_KERNELS_BUFFERS];
} ferry_kernels_launch;

/**
 * Submits a launch, on the thread that called ferry_kernels_run or ferry_kernels_pack, with the
 * pointer that was passed to it. A value that is not 0 ends the run, which returns it.
 */
typedef int ferry_kernels_launcher(void *user, const ferry_kernels_launch *launch);

/**
 * Decides whether the kernels compute `op`, for the entry `query`: fills in *out, up to its
 * struct_size. FERRY_EUNSUPPORTED, or FERRY_EINVAL for a target that is not valid or has an unknown
 * flag; *out is then as it was. Does not allocate.
 */
FERRY_API int ferry_kernels_query(const ferry_kernels_target *target, const ferry_op_desc *op,
                                  ferry_op_answer *out);

/**
 * Plans `op`, and copies the parts of it and of the target that it needs. FERRY_ENOMEM, and the
 * errors of ferry_kernels_query; *out is then as it was. The caller destroys the plan.
 */
FERRY_API int ferry_kernels_plan_create(const ferry_kernels_target *target, const ferry_op_desc *op,
                                        ferry_kernels_plan **out);

/** Destroys a plan; NULL is allowed. */
FERRY_API void ferry_kernels_plan_destroy(ferry_kernels_plan *plan);

/**
 * The kernels of a plan, of packing too: writes at most FERRY_KERNELS_LAUNCHES numbers to `out` and
 * returns how many, 0 for a NULL argument. A plugin compiles them when it creates the operation.
 */
FERRY_API uint32_t ferry_kernels_plan_kernels(const ferry_kernels_plan *plan, uint32_t *out);

/**
 * Calls `launch` for each launch of a run, in order: the entry `run`. Returns 0, or the first value
 * of `launch` that is not 0. Does not allocate. FERRY_EINVAL for a NULL argument other than `user`.
 * An operation without work has no launches.
 */
FERRY_API int ferry_kernels_run(const ferry_kernels_plan *plan, const ferry_op_run_args *args,
                                ferry_kernels_launcher *launch, void *user);

/** As ferry_kernels_run, for packing constants: the entry `prepare`. */
FERRY_API int ferry_kernels_pack(const ferry_kernels_plan *plan, const ferry_cref *in,
                                 ferry_ref packed, ferry_kernels_launcher *launch, void *user);

/**
 * A checksum of the texts, the structures of arguments and the numbers of kernels. The same number
 * is FERRY_KERNELS_FINGERPRINT in kernels/fingerprint.h, which is installed with the texts.
 */
FERRY_API uint32_t ferry_kernels_fingerprint(void);

/** The number of kernels. */
FERRY_API int ferry_kernels_count(void);

/** The name of a kernel's function; NULL for a number that is not a kernel's. */
FERRY_API const char *ferry_kernels_name(uint32_t kernel);

/** The number of programs, in which kernels are compiled together. */
FERRY_API int ferry_kernels_program_count(void);

/**
 * The program that contains a kernel; ferry_kernels_program_count() for a number that is not a
 * kernel's.
 */
FERRY_API uint32_t ferry_kernels_program(uint32_t kernel);

/**
 * The text of a program as lines, each with its newline, which the library owns: the dialect and
 * the kernels, without lines that include files of ferry. VEC and GROUP are macros of its compiler.
 * Writes the lines to `out` and returns their number; 0 for a number that is not a program's. If
 * `most` is smaller, nothing is written, and `out` may be NULL if it is 0. Kernels that use doubles
 * have programs of their own, which devices without doubles do not compile.
 */
FERRY_API size_t ferry_kernels_text(uint32_t program, const char **out, size_t most);

FERRY_END_DECLS

#endif
