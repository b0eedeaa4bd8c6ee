/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checks of "ferry.profile/1": the life of sections, and what clock and read answer. Each
 * section is wrapped, so that the checks recognize it when the caller passes it again.
 */
#include "config.h"

#include "core/validate/track.h"

#include <ferry/profile_plugin.h>
#include <ferry/status.h>
#include <stdlib.h>
#include <string.h>

struct section {
    struct ferry__tracked_object object;
    void *own; /* the plugin's section */
    bool was_read;
    ferry_profile_times times; /* the times of the first read */
};

static int describe_clock(void *dev, ferry_profile_clock *out)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    int err = ferry__check_code(d, "clock", d->profile->clock(dev, out));

    if (err)
        return err;
    if (!out->frequency || !out->resolution)
        ferry__broken(d, 69, "clock", "a frequency or a resolution of 0");
    pthread_mutex_lock(&ferry__validate_lock);
    if (d->clock_frequency && d->clock_frequency != out->frequency)
        ferry__broken(d, 69, "clock", "the frequency has changed");
    d->clock_frequency = out->frequency;
    pthread_mutex_unlock(&ferry__validate_lock);
    return 0;
}

static int start(void *dev, void *queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    return ferry__check_code(d, "start", d->profile->start(dev, queue));
}

static int stop(void *dev, void *queue)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);

    return ferry__check_code(d, "stop", d->profile->stop(dev, queue));
}

static int begin(void *dev, void *queue, void **out_section)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct section *s = calloc(1, sizeof *s);
    int err;

    if (!s)
        return FERRY_ENOMEM;
    err = ferry__check_code(d, "begin", d->profile->begin(dev, queue, &s->own));
    if (!err && !s->own)
        ferry__broken(d, 70, "begin", "stored NULL");
    if (err && s->own)
        ferry__broken(d, 12, "begin", "stored a section although it failed");
    if (err) {
        free(s);
        return err;
    }
    ferry__add_object(&d->sections, &s->object);
    *out_section = s;
    return 0;
}

/* Whether a section was returned by begin and not destroyed since. */
static bool is_section(struct ferry__tracked_device *d, const char *entry, const void *section)
{
    bool known = ferry__is_object(&d->sections, section);

    if (!known)
        ferry__broken(d, 70, entry, "a section that was destroyed, or never begun");
    return known;
}

static int end(void *dev, void *queue, void *section)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    const struct section *s = section;

    if (!is_section(d, "end", section))
        return FERRY_EINVAL;
    return ferry__check_code(d, "end", d->profile->end(dev, queue, s->own));
}

static int read_times(void *dev, void *section, ferry_profile_times *out)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct section *s = section;
    int answer;

    if (!is_section(d, "read", section))
        return FERRY_EINVAL;
    answer = d->profile->read(dev, s->own, out);
    if (answer > 1)
        ferry__broken(d, 70, "read", "returned %d, which is neither 0, 1 nor a code", answer);
    if (answer <= 0) {
        if (s->was_read)
            ferry__broken(d, 70, "read", "no times for a section that had times before");
        return answer < 0 ? ferry__check_code(d, "read", answer) : 0;
    }
    if (out->begin > out->end)
        ferry__broken(d, 71, "read", "a section that ends before it begins");
    if ((out->flags & FERRY_PROFILE_EMPTY) && (out->begin || out->end))
        ferry__broken(d, 71, "read", "an empty section with times");
    if (s->was_read && memcmp(&s->times, out, sizeof s->times))
        ferry__broken(d, 70, "read", "the times of a section have changed");
    s->was_read = true;
    s->times = *out;
    return 1;
}

static void destroy(void *dev, void *section)
{
    struct ferry__tracked_device *d = ferry__tracked(dev);
    struct section *s = section;

    if (!ferry__take_object(&d->sections, section)) {
        ferry__broken(d, 70, "destroy", "a section that was destroyed, or never begun");
        return;
    }
    d->profile->destroy(dev, s->own);
    free(s);
}

const ferry_profile_table ferry__validate_profile = {
    .struct_size = sizeof(ferry_profile_table),
    .clock = describe_clock,
    .start = start,
    .stop = stop,
    .begin = begin,
    .end = end,
    .read = read_times,
    .destroy = destroy,
};
