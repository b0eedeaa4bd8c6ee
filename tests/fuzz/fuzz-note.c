/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/load/note.h"
#include "fuzz.h"

#include <elf.h>

const char fuzz_name[] = "note";

/* Reads any bytes as a plugin's file, for each ELF class and byte order of this build. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t classes[] = { ELFCLASS64, ELFCLASS32 };
    struct ferry__bytes file = { .fd = -1, .memory = bytes, .size = size };

    for (size_t i = 0; i < 2; i++) {
        struct ferry__self self = { .elf_class = classes[i],
                                    .elf_data = ELFDATA2LSB,
                                    .machine = EM_X86_64,
                                    .cpu_features = FERRY_CPU_SSE3,
                                    .abi_major = FERRY_ABI_MAJOR,
                                    .abi_minor = FERRY_ABI_MINOR };
        struct ferry__refusal refusal = { 0 };
        ferry_plugin_descriptor note;

        if (ferry__note_read(&file, &self, &note, NULL, &refusal) == 0)
            fuzz_use(ferry__note_check(&note, &self, &refusal) == 0);
    }
    return 0;
}
