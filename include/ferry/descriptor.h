/* SPDX-License-Identifier: BSD-2-Clause */
/**
 * @file descriptor.h
 * The descriptor of a plugin: an ELF note that ferry reads from the file before it runs the
 * plugin's code. ferry-plugin(7) explains each numbered rule.
 *
 * The file: a plugin is one shared object, ferry_<name>.so, of the descriptor's name [rule 1]. It
 * exports the descriptor and ferry_plugin_open and nothing else [rule 2]. It imports no symbol of
 * libferry; ferry passes all services in the ferry_host table [rule 3]. It leaves no symbol
 * undefined that it does not link [rule 4]. FERRY_PLUGIN makes the descriptor, once [rule 5]. No
 * constructor accesses a device or a driver [rule 6]. Other users can write neither to the file nor
 * to a folder above it or of its RUNPATH [rule 7].
 *
 * Versions: the majors of ferry and of the plugin must be equal; the minors may differ in either
 * direction [rule 8]. Each structure begins with its size. ferry copies the members that both sides
 * know and treats the rest as absent; a plugin writes at most struct_size bytes of a structure of
 * ferry's [rule 9]. Structures grow only at the end; never compare sizes for equality [rule 10].
 * The set of mandatory entries is fixed for a major.
 *
 * plugin.h includes this header. Authors of plugins use only FERRY_PLUGIN, at the end.
 */
#ifndef FERRY_DESCRIPTOR_H
#define FERRY_DESCRIPTOR_H

#include <ferry/types.h>

FERRY_BEGIN_DECLS

#define FERRY_ABI_MAJOR 1u
#define FERRY_ABI_MINOR 2u

#define FERRY_PLUGIN_MAGIC     0x31595246u /* "FRY1" in memory on little-endian machines */
#define FERRY_PLUGIN_NOTE_TYPE 0x46525931u

/**
 * Bits of cpu_features: instruction sets that the plugin's code was compiled for. ferry refuses the
 * plugin if the CPU or the OS lacks one of them. They cover the levels x86-64-v2, -v3 and -v4, and
 * the later sets that a compiler uses by itself; sets that only intrinsics or assembly use (AMX,
 * GFNI, VAES) and those of ARM but for SVE are not recorded. A ferry that does not know a bit
 * refuses the plugin.
 */
#define FERRY_CPU_SSE3       (UINT32_C(1) << 0)
#define FERRY_CPU_SSSE3      (UINT32_C(1) << 1)
#define FERRY_CPU_SSE41      (UINT32_C(1) << 2)
#define FERRY_CPU_SSE42      (UINT32_C(1) << 3)
#define FERRY_CPU_POPCNT     (UINT32_C(1) << 4)
#define FERRY_CPU_AVX        (UINT32_C(1) << 5)
#define FERRY_CPU_F16C       (UINT32_C(1) << 6)
#define FERRY_CPU_FMA        (UINT32_C(1) << 7)
#define FERRY_CPU_BMI2       (UINT32_C(1) << 8)
#define FERRY_CPU_AVX2       (UINT32_C(1) << 9)
#define FERRY_CPU_AVX512F    (UINT32_C(1) << 10)
#define FERRY_CPU_AVX512BW   (UINT32_C(1) << 11)
#define FERRY_CPU_AVX512VL   (UINT32_C(1) << 12)
#define FERRY_CPU_LZCNT      (UINT32_C(1) << 13)
#define FERRY_CPU_BMI1       (UINT32_C(1) << 14)
#define FERRY_CPU_MOVBE      (UINT32_C(1) << 15)
#define FERRY_CPU_SVE        (UINT32_C(1) << 16)
#define FERRY_CPU_AVX512DQ   (UINT32_C(1) << 17)
#define FERRY_CPU_AVX512CD   (UINT32_C(1) << 18)
#define FERRY_CPU_AVX512VNNI (UINT32_C(1) << 19)
#define FERRY_CPU_AVX512BF16 (UINT32_C(1) << 20)
#define FERRY_CPU_AVX512FP16 (UINT32_C(1) << 21)

/**
 * Bits of sanitizer: the sanitizer that the plugin was compiled with. A program without that
 * sanitizer cannot load the plugin.
 */
#define FERRY_SANITIZER_ADDRESS 1u
#define FERRY_SANITIZER_THREAD  2u
#define FERRY_SANITIZER_MEMORY  4u

/**
 * The descriptor. It contains no pointers, since it is an ELF note (section .note.ferry) that ferry
 * reads from the file before it runs the plugin's code. The first four members are the note's
 * header and owner; descsz counts the bytes from `magic` on.
 */
typedef struct ferry_plugin_descriptor {
    uint32_t note_namesz; /* 6 */
    uint32_t note_descsz; /* struct_size */
    uint32_t note_type;   /* FERRY_PLUGIN_NOTE_TYPE */
    char note_owner[8];   /* "ferry" */
    uint32_t magic;       /* FERRY_PLUGIN_MAGIC */
    uint32_t struct_size; /* bytes from magic to the end */
    uint32_t abi_major, abi_minor;
    uint32_t min_host_minor; /* the smallest minor of ferry that the plugin supports */
    uint32_t sanitizer;      /* FERRY_SANITIZER_… */
    uint32_t cpu_features;   /* FERRY_CPU_… */
    uint32_t reserved;
    char name[32];    /* [a-z][a-z0-9_-]*, as in ferry_<name>.so and FERRY_BACKEND */
    char version[32]; /* the plugin's version */
    char vendor[64];
} ferry_plugin_descriptor;

/** The descriptor, one of the two symbols of a plugin. FERRY_PLUGIN defines it. */
extern FERRY_API const ferry_plugin_descriptor ferry_plugin;

#define FERRY_PLUGIN_DESCRIPTOR_SIZE ((uint32_t)(sizeof(ferry_plugin_descriptor) - 20u))

/* The target and the sanitizer of this compilation, for the descriptor. */
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
#ifdef __LZCNT__
#define FERRY_HAVE_LZCNT_ FERRY_CPU_LZCNT
#else
#define FERRY_HAVE_LZCNT_ 0
#endif
#ifdef __BMI__
#define FERRY_HAVE_BMI1_ FERRY_CPU_BMI1
#else
#define FERRY_HAVE_BMI1_ 0
#endif
#ifdef __MOVBE__
#define FERRY_HAVE_MOVBE_ FERRY_CPU_MOVBE
#else
#define FERRY_HAVE_MOVBE_ 0
#endif
#ifdef __AVX512DQ__
#define FERRY_HAVE_AVX512DQ_ FERRY_CPU_AVX512DQ
#else
#define FERRY_HAVE_AVX512DQ_ 0
#endif
#ifdef __AVX512CD__
#define FERRY_HAVE_AVX512CD_ FERRY_CPU_AVX512CD
#else
#define FERRY_HAVE_AVX512CD_ 0
#endif
#ifdef __AVX512VNNI__
#define FERRY_HAVE_AVX512VNNI_ FERRY_CPU_AVX512VNNI
#else
#define FERRY_HAVE_AVX512VNNI_ 0
#endif
#ifdef __AVX512BF16__
#define FERRY_HAVE_AVX512BF16_ FERRY_CPU_AVX512BF16
#else
#define FERRY_HAVE_AVX512BF16_ 0
#endif
#ifdef __AVX512FP16__
#define FERRY_HAVE_AVX512FP16_ FERRY_CPU_AVX512FP16
#else
#define FERRY_HAVE_AVX512FP16_ 0
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
     FERRY_HAVE_AVX512VL_ | FERRY_HAVE_LZCNT_ | FERRY_HAVE_BMI1_ | FERRY_HAVE_MOVBE_ |   \
     FERRY_HAVE_SVE_ | FERRY_HAVE_AVX512DQ_ | FERRY_HAVE_AVX512CD_ |                    \
     FERRY_HAVE_AVX512VNNI_ | FERRY_HAVE_AVX512BF16_ | FERRY_HAVE_AVX512FP16_)

/*
 * C++ has designated initialisers from C++20 on; GCC and Clang accept them in earlier standards
 * with warnings. The pragmas disable these warnings, and those for omitted members, for the
 * descriptor.
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
 * Defines the descriptor: FERRY_PLUGIN(.name = "acme", .version = "1.0", .vendor = "Acme"). Use it
 * once, at file scope of a C or C++ file. `name` is required; the macro fills in all members that
 * describe the ABI and the compilation.
 */
#define FERRY_PLUGIN(...) FERRY_PLUGIN_OF_(, __VA_ARGS__)

/**
 * As FERRY_PLUGIN, for a plugin that uses services of ferry_host added in minor `minor`:
 * FERRY_PLUGIN_FOR_HOST(1, .name = "acme", …). A ferry with a smaller minor refuses the plugin.
 */
#define FERRY_PLUGIN_FOR_HOST(minor, ...) \
    FERRY_PLUGIN_OF_(FERRY_PLUGIN_NEEDS_(minor), __VA_ARGS__)

/* `needs` is empty, or a designated member in declaration order, as C++ requires. */
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
