/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the header and the note of a plugin's file without running its code. The file may be
 * malformed: every value is checked before use.
 */
#ifndef FERRY_CORE_NOTE_H
#define FERRY_CORE_NOTE_H

#include "core/base/status.h"
#include "core/load/elf_dynamic.h"
#include "core/load/elf_file.h"

#include <ferry/descriptor.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The properties of this process that a file is compared with. */
struct ferry__self {
    uint8_t elf_class, elf_data; /* EI_CLASS, EI_DATA */
    uint16_t machine;            /* e_machine */
    uint32_t cpu_features;       /* the FERRY_CPU_… bits of this machine; 0 until a plugin needs
                                  * any */
    uint32_t sanitizer;          /* the FERRY_SANITIZER_… bits of the runtimes in this process */
    uint32_t abi_major, abi_minor;
};

/*
 * Checks that the file is a shared object for this machine and reads its note; *out is zeroed where
 * the note is shorter than the structure. *out_dynamic describes its dynamic section, unless that
 * is NULL. 0 or refusal->code.
 */
int ferry__note_read(const struct ferry__bytes *file, const struct ferry__self *self,
                     ferry_plugin_descriptor *out, struct ferry__dynamic *out_dynamic,
                     struct ferry__refusal *refusal);

/*
 * Checks that this process can use a plugin with that note: its ABI, CPU features, sanitizer and
 * name. 0 or refusal->code.
 */
int ferry__note_check(const ferry_plugin_descriptor *note, const struct ferry__self *self,
                      struct ferry__refusal *refusal);

#endif
