/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include "core/coherence/lost.h"

#include "core/base/status.h"

void ferry__lost_note(ferry_memory *m, uint32_t *valid, uint32_t failed)
{
    size_t longest = ferry__replica_longest(m, *valid & failed);

    *valid &= ~failed; /* the end of a copy that is shorter than the bytes in use reads as zeros */
    if (longest > m->used && longest > ferry__replica_longest(m, *valid))
        m->tail_lost = true;
}

int ferry__lost_say(const ferry_memory *m, bool just_found)
{
    int code = m->lost ? m->lost : FERRY_ELOST;

    if (code == FERRY__LOST_MARKED)
        return ferry__error(FERRY_ELOST,
                            "%s: %zu bytes were lost by a failed operation or marked as lost, and "
                            "not written since",
                            m->home->name, m->used);
    return ferry__error(FERRY_ELOST, "%s: the last valid copy of %zu bytes was lost: %s",
                        m->home->name, m->used,
                        just_found ? ferry_last_error() : ferry_strerror(code));
}
