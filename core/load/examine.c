/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/load/examine.h"
#include "core/load/elf_paths.h"
#include "core/load/isa.h"

#include <ferry/status.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int ferry__examine_open(const char *real, struct stat *out, struct ferry__refusal *refusal)
{
    int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0 || fstat(fd, out) != 0)
        ferry__refuse(refusal, FERRY_EPLUGIN, "", "%s", strerror(errno));
    else if (!S_ISREG(out->st_mode))
        ferry__refuse(refusal, FERRY_EPLUGIN, "", "not a file");
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return refusal->code;
}

/* Reads the file's header, its note, and its dependencies with their search folders. */
static int read_file(const struct ferry__bytes *bytes, const char *real,
                     const struct ferry__self *self, const struct ferry__trust *trust,
                     struct ferry__examined *out, struct ferry__refusal *refusal)
{
    char loose[PATH_MAX];
    int err;

    out->stage = FERRY__STAGE_ELF;
    err = ferry__note_read(bytes, self, &out->note, &out->dynamic, refusal);
    if (err)
        return err;
    out->stage = FERRY__STAGE_PERMISSIONS;
    err = ferry__paths_check(bytes, &out->dynamic, real, trust, &out->origin, loose, refusal);
    if (!err && loose[0] && !out->loose[0])
        memcpy(out->loose, loose, strlen(loose) + 1);
    return err;
}

int ferry__examine(int fd, const struct stat *st, const char *real, struct ferry__self *self,
                   const struct ferry__trust *trust, struct ferry__permitted *last,
                   struct ferry__examined *out, struct ferry__refusal *refusal)
{
    const struct ferry__bytes bytes = { .fd = fd, .size = (uint64_t)st->st_size };
    int err;

    memset(&out->note, 0, sizeof(out->note));
    out->origin = false;
    out->stage = FERRY__STAGE_PERMISSIONS;
    err = ferry__permit_file(real, st, trust, last, out->loose, refusal);
    if (!err)
        err = read_file(&bytes, real, self, trust, out, refusal);
    if (err)
        return err;
    out->stage = FERRY__STAGE_ABI;
    if (out->note.cpu_features && !self->cpu_features)
        self->cpu_features = ferry__isa_features();
    return ferry__note_check(&out->note, self, refusal);
}
