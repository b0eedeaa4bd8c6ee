/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file descriptor.h
 * Who a plugin is: the note that ferry reads from its file before any line of it runs.
 *
 * Included by plugin.h; a plugin's author needs FERRY_PLUGIN at the end, nothing else.
 */
#ifndef FERRY_DESCRIPTOR_H
#define FERRY_DESCRIPTOR_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

#define FERRY_ABI_MAJOR 1u
#define FERRY_ABI_MINOR 1u

#define FERRY_PLUGIN_MAGIC     0x31595246u /* "FRY1" in memory on little-endian machines */
#define FERRY_PLUGIN_NOTE_TYPE 0x46525931u

/**
 * Bits of cpu_features: what the plugin's own code was compiled to need. ferry refuses it where the
 * CPU or the OS lacks one.
 */
#define FERRY_CPU_SSE3     (UINT32_C(1) << 0)
#define FERRY_CPU_SSSE3    (UINT32_C(1) << 1)
#define FERRY_CPU_SSE41    (UINT32_C(1) << 2)
#define FERRY_CPU_SSE42    (UINT32_C(1) << 3)
#define FERRY_CPU_POPCNT   (UINT32_C(1) << 4)
#define FERRY_CPU_AVX      (UINT32_C(1) << 5)
#define FERRY_CPU_F16C     (UINT32_C(1) << 6)
#define FERRY_CPU_FMA      (UINT32_C(1) << 7)
#define FERRY_CPU_BMI2     (UINT32_C(1) << 8)
#define FERRY_CPU_AVX2     (UINT32_C(1) << 9)
#define FERRY_CPU_AVX512F  (UINT32_C(1) << 10)
#define FERRY_CPU_AVX512BW (UINT32_C(1) << 11)
#define FERRY_CPU_AVX512VL (UINT32_C(1) << 12)
#define FERRY_CPU_SVE      (UINT32_C(1) << 16)

/**
 * Bits of sanitizer: what the plugin was compiled under; a program without it cannot load the
 * plugin.
 */
#define FERRY_SANITIZER_ADDRESS 1u
#define FERRY_SANITIZER_THREAD  2u
#define FERRY_SANITIZER_MEMORY  4u

/**
 * Who a plugin is. Flat, no pointers: it is an ELF note (section .note.ferry), so that ferry reads
 * it from the file before any line of the plugin runs. The first five members are the note's
 * header; descsz counts the bytes from `magic` on.
 */
typedef struct ferry_plugin_descriptor {
    uint32_t note_namesz; /* 6 */
    uint32_t note_descsz; /* struct_size */
    uint32_t note_type;   /* FERRY_PLUGIN_NOTE_TYPE */
    char note_owner[8];   /* "ferry" */
    uint32_t magic;       /* FERRY_PLUGIN_MAGIC */
    uint32_t struct_size; /* bytes from magic to the end */
    uint32_t abi_major, abi_minor;
    uint32_t min_host_minor; /* the least minor of ferry that this plugin can work with */
    uint32_t sanitizer;      /* FERRY_SANITIZER_… */
    uint32_t cpu_features;   /* FERRY_CPU_… */
    uint32_t reserved;
    char name[32];    /* [a-z][a-z0-9_-]*, as in ferry_<name>.so and FERRY_BACKEND */
    char version[32]; /* of the plugin */
    char vendor[64];
} ferry_plugin_descriptor;

/** The first of the two symbols of a plugin; FERRY_PLUGIN defines it. */
extern FERRY_API const ferry_plugin_descriptor ferry_plugin;

#define FERRY_PLUGIN_DESCRIPTOR_SIZE ((uint32_t)(sizeof(ferry_plugin_descriptor) - 20u))

/* What the compiler was told, for the descriptor. */
#ifdef __SSE3__
#define FERRY_HAVE_SSE3_ FERRY_CPU_SSE3
#else
#define FERRY_HAVE_SSE3_ 0
#endif
#ifdef __SSSE3__
#define FERRY_HAVE_SSSE3_ FERRY_CPU_SSSE3
#else
#define FERRY_HAVE_SSSE3_ 0
#endif
#ifdef __SSE4_1__
#define FERRY_HAVE_SSE41_ FERRY_CPU_SSE41
#else
#define FERRY_HAVE_SSE41_ 0
#endif
#ifdef __SSE4_2__
#define FERRY_HAVE_SSE42_ FERRY_CPU_SSE42
#else
#define FERRY_HAVE_SSE42_ 0
#endif
#ifdef __POPCNT__
#define FERRY_HAVE_POPCNT_ FERRY_CPU_POPCNT
#else
#define FERRY_HAVE_POPCNT_ 0
#endif
#ifdef __AVX__
#define FERRY_HAVE_AVX_ FERRY_CPU_AVX
#else
#define FERRY_HAVE_AVX_ 0
#endif
#ifdef __F16C__
#define FERRY_HAVE_F16C_ FERRY_CPU_F16C
#else
#define FERRY_HAVE_F16C_ 0
#endif
#ifdef __FMA__
#define FERRY_HAVE_FMA_ FERRY_CPU_FMA
#else
#define FERRY_HAVE_FMA_ 0
#endif
#ifdef __BMI2__
#define FERRY_HAVE_BMI2_ FERRY_CPU_BMI2
#else
#define FERRY_HAVE_BMI2_ 0
#endif
#ifdef __AVX2__
#define FERRY_HAVE_AVX2_ FERRY_CPU_AVX2
#else
#define FERRY_HAVE_AVX2_ 0
#endif
#ifdef __AVX512F__
#define FERRY_HAVE_AVX512F_ FERRY_CPU_AVX512F
#else
#define FERRY_HAVE_AVX512F_ 0
#endif
#ifdef __AVX512BW__
#define FERRY_HAVE_AVX512BW_ FERRY_CPU_AVX512BW
#else
#define FERRY_HAVE_AVX512BW_ 0
#endif
#ifdef __AVX512VL__
#define FERRY_HAVE_AVX512VL_ FERRY_CPU_AVX512VL
#else
#define FERRY_HAVE_AVX512VL_ 0
#endif
#ifdef __ARM_FEATURE_SVE
#define FERRY_HAVE_SVE_ FERRY_CPU_SVE
#else
#define FERRY_HAVE_SVE_ 0
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FERRY_HAVE_SANITIZER_ FERRY_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define FERRY_HAVE_SANITIZER_ FERRY_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define FERRY_HAVE_SANITIZER_ FERRY_SANITIZER_MEMORY
#endif
#endif
#ifndef FERRY_HAVE_SANITIZER_
#if defined(__SANITIZE_ADDRESS__)
#define FERRY_HAVE_SANITIZER_ FERRY_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define FERRY_HAVE_SANITIZER_ FERRY_SANITIZER_THREAD
#else
#define FERRY_HAVE_SANITIZER_ 0u
#endif
#endif

#define FERRY_CPU_COMPILED                                                              \
    (FERRY_HAVE_SSE3_ | FERRY_HAVE_SSSE3_ | FERRY_HAVE_SSE41_ | FERRY_HAVE_SSE42_ |     \
     FERRY_HAVE_POPCNT_ | FERRY_HAVE_AVX_ | FERRY_HAVE_F16C_ | FERRY_HAVE_FMA_ |        \
     FERRY_HAVE_BMI2_ | FERRY_HAVE_AVX2_ | FERRY_HAVE_AVX512F_ | FERRY_HAVE_AVX512BW_ | \
     FERRY_HAVE_AVX512VL_ | FERRY_HAVE_SVE_)

/*
 * Designators are C++20, and no compiler that knows attributes minds them earlier: what it says of
 * them, and of members that are zero for want of one, is switched off for the descriptor.
 */
#ifdef __cplusplus
#define FERRY_PLUGIN_QUIET_                                                         \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wpedantic\"") \
        _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")
#define FERRY_PLUGIN_END_ \
    ;                     \
    _Pragma("GCC diagnostic pop") extern "C" const ferry_plugin_descriptor ferry_plugin
#else
#define FERRY_PLUGIN_QUIET_
#define FERRY_PLUGIN_END_
#endif

/**
 * Defines the descriptor: FERRY_PLUGIN(.name = "acme", .version = "1.0", .vendor = "Acme"); at file
 * scope of one C or C++ file, once. `name` is required; everything else has been filled in from
 * what the compiler knows.
 */
#define FERRY_PLUGIN(...) FERRY_PLUGIN_OF_(, __VA_ARGS__)

/**
 * The same for a plugin that needs services of ferry_host that came with a later minor of it than 0:
 * FERRY_PLUGIN_FOR_HOST(1, .name = "acme", …). An older ferry refuses it.
 */
#define FERRY_PLUGIN_FOR_HOST(minor, ...) \
    FERRY_PLUGIN_OF_(FERRY_PLUGIN_NEEDS_(minor), __VA_ARGS__)

/* `needs`: nothing, or a member at its place in the structure, which C++ insists on. */
#define FERRY_PLUGIN_NEEDS_(minor) .min_host_minor = (minor),
#define FERRY_PLUGIN_OF_(needs, ...)                                                            \
    FERRY_PLUGIN_QUIET_                                                                         \
    __extension__ __attribute__((section(".note.ferry"), used, aligned(4)))                     \
    const ferry_plugin_descriptor ferry_plugin = { .note_namesz = 6,                            \
                                                   .note_descsz = FERRY_PLUGIN_DESCRIPTOR_SIZE, \
                                                   .note_type = FERRY_PLUGIN_NOTE_TYPE,         \
                                                   .note_owner = "ferry",                       \
                                                   .magic = FERRY_PLUGIN_MAGIC,                 \
                                                   .struct_size = FERRY_PLUGIN_DESCRIPTOR_SIZE, \
                                                   .abi_major = FERRY_ABI_MAJOR,                \
                                                   .abi_minor = FERRY_ABI_MINOR,                \
                                                   needs.sanitizer = FERRY_HAVE_SANITIZER_,     \
                                                   .cpu_features = FERRY_CPU_COMPILED,          \
                                                   __VA_ARGS__ } FERRY_PLUGIN_END_

FERRY_END_DECLS

#endif
