/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "blas.h"

#include "cpu.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    char name[512]; /* the name that ld.so looks for */
    pthread_once_t once;
    struct cpu_blas functions;
    char why[1024]; /* the reason why it cannot be used; "" if it can */
} blas = { .name = CPU_BLAS_SONAME, .once = PTHREAD_ONCE_INIT };

/* ---- search --------------------------------------------------------------------------------- */

static bool is_in_folder(const char *folder)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, blas.name);
    return access(path, R_OK) == 0;
}

/*
 * Whether the library is in one of ld.so's folders: those of LD_LIBRARY_PATH, of the program and of
 * the system.
 */
static bool is_in_search_path(void)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo size, *list = NULL;
    bool found = false;

    if (!program)
        return false;
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && (list = malloc(size.dls_size))) {
        if (dlinfo(program, RTLD_DI_SERINFOSIZE, list) == 0 &&
            dlinfo(program, RTLD_DI_SERINFO, list) == 0)
            for (unsigned i = 0; i < list->dls_cnt && !found; i++)
                found = is_in_folder(list->dls_serpath[i].dls_name);
        free(list);
    }
    dlclose(program);
    return found;
}

/*
 * Whether a path in the cache ends in "/NAME" and is a file. The paths are stored as text in every
 * format.
 */
static bool is_listed(const char *cache, size_t size)
{
    size_t length = strlen(blas.name) + 1; /* includes the NUL */
    const char *at = cache, *end = cache + size, *path;

    while ((at = memmem(at, (size_t)(end - at), blas.name, length))) {
        for (path = at; path > cache && path[-1]; path--)
            ;
        if (path < at && at[-1] == '/' && access(path, R_OK) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Whether the library is in ldconfig's cache of the configured folders. */
static bool is_in_cache(void)
{
    int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *cache;
    bool found = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        cache = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (cache != MAP_FAILED) {
            found = is_listed(cache, (size_t)st.st_size);
            munmap(cache, (size_t)st.st_size);
        }
    }
    close(fd);
    return found;
}

/* Expands "$ORIGIN/NAME" to NAME in the folder of this plugin. */
static void expand_origin(void)
{
    static const char origin[] = "$ORIGIN/", anchor[] = "cpu";
    char name[sizeof(blas.name)];
    const char *end;
    Dl_info info;

    if (strncmp(blas.name, origin, strlen(origin)) != 0 || !dladdr(anchor, &info) ||
        !info.dli_fname)
        return;
    end = strrchr(info.dli_fname, '/');
    if (end && snprintf(name, sizeof(name), "%.*s/%s", (int)(end - info.dli_fname), info.dli_fname,
                        blas.name + strlen(origin)) < (int)sizeof(name))
        memcpy(blas.name, name, sizeof(name));
}

int cpu_blas_find(void)
{
    const char *option = cpu_host->option("blas");
    void *library;

    if (option && *option)
        snprintf(blas.name, sizeof(blas.name), "%s", option);
    expand_origin();
    if (strchr(blas.name, '/') ? access(blas.name, R_OK) == 0
                               : is_in_search_path() || is_in_cache())
        return 0;
    library = dlopen(blas.name, RTLD_NOW | RTLD_LOCAL); /* the folder is unknown; dlopen reports an
                                                         * error */
    return library ? 0
                   : cpu_host->error(FERRY_EPLUGIN, "%s; it is required for matrices", dlerror());
}

/* ---- threads -------------------------------------------------------------------------------- */

/* The number of threads that OpenBLAS will use, including the caller's. */
static unsigned threads_wanted(void)
{
    static const char *const names[] = { "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
                                         "OMP_NUM_THREADS" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = getenv(names[i]);
        int threads = text ? atoi(text) : 0;

        if (threads > 0)
            return threads < WORKERS_MOST_THREADS ? (unsigned)threads : WORKERS_MOST_THREADS;
    }
    return workers_allowed();
}

static unsigned tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    unsigned n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

/*
 * Waits until threads have ended: a joined thread counts for a moment longer against the system's
 * limits.
 */
static void wait_for_tasks(unsigned most)
{
    const struct timespec moment = { 0, 100000 };

    for (int i = 0; i < 1000 && tasks() > most; i++)
        nanosleep(&moment, NULL);
}

static void *wait_for_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The number of `n` further threads that can be started at once. */
static unsigned try_threads(unsigned n)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = calloc(n, sizeof(*threads));
    unsigned before = tasks(), had = 0;
    sigset_t all, mask;

    if (!threads)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask); /* blocked, because the program's own threads handle
                                                * its signals */
    pthread_mutex_lock(&gate);
    while (had < n && pthread_create(&threads[had], NULL, wait_for_gate, &gate) == 0)
        had++;
    pthread_mutex_unlock(&gate);
    for (unsigned i = 0; i < had; i++)
        pthread_join(threads[i], NULL);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    wait_for_tasks(before);
    free(threads);
    return had;
}

/*
 * The address space that each thread needs to call OpenBLAS: a buffer of 128 MiB, a stack, and
 * malloc's arena; the first thread's covers the library instead. If a buffer cannot be allocated,
 * OpenBLAS retries forever.
 */
#define THREAD_BYTES ((size_t)208 << 20)

/* The number of `n` threads for which there is enough address space at once. */
static unsigned try_room(unsigned n)
{
    void *room = MAP_FAILED;
    unsigned had = 0;

    if (n)
        room = mmap(NULL, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED) {
        had = 1 + try_room(n - 1);
        munmap(room, THREAD_BYTES);
    }
    return had;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void *symbol(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;

    if (!found && !blas.why[0])
        snprintf(blas.why, sizeof(blas.why), "%s", dlerror());
    return found;
}

static void load(void)
{
    void *library = dlopen(blas.name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *found[] = { symbol(library, "cblas_sgemv"), symbol(library, "cblas_dgemv"),
                      symbol(library, "cblas_sgemm"), symbol(library, "cblas_dgemm") };

    memcpy(&blas.functions.sgemv, &found[0], sizeof(found[0]));
    memcpy(&blas.functions.dgemv, &found[1], sizeof(found[1]));
    memcpy(&blas.functions.sgemm, &found[2], sizeof(found[2]));
    memcpy(&blas.functions.dgemm, &found[3], sizeof(found[3]));
}

/*
 * Loads OpenBLAS without its threads. It starts them when it is loaded, and sends the process
 * SIGINT if one cannot be started. Only its environment variable prevents that; the variable is
 * restored afterwards.
 */
static void load_on_one_thread(void)
{
    static const char name[] = "OPENBLAS_NUM_THREADS";
    const char *value = getenv(name);
    char *before = value ? strdup(value) : NULL;

    setenv(name, "1", 1);
    load();
    if (before)
        setenv(name, before, 1);
    else
        unsetenv(name);
    free(before);
}

/* The number of threads that OpenBLAS can use, including the caller's; 0: not even the caller's. */
static unsigned try_all(unsigned further)
{
    unsigned had = further ? try_threads(further) : 0;

    return try_room(1 + had); /* comes last, since the memory of the tried threads is not freed
                               * completely */
}

static void open_blas(void)
{
    unsigned further = threads_wanted() - 1, had;
    void *already = dlopen(blas.name, RTLD_NOW | RTLD_NOLOAD);

    if (already)
        dlclose(already);
    had = try_all(already ? 0 : further);
    if (!had) {
        snprintf(blas.why, sizeof(blas.why),
                 "%s would wait for memory: %zu MiB cannot be allocated", blas.name,
                 THREAD_BYTES >> 20);
        cpu_host->log(FERRY_LOG_WARN, "%s; matrices are computed without it", blas.why);
        return;
    }
    if (already || had == 1 + further) {
        load();
        return;
    }
    cpu_host->log(
        FERRY_LOG_WARN,
        "only %u of %u further threads can be started: %s computes matrices on one thread", had - 1,
        further, blas.name);
    load_on_one_thread();
}

const struct cpu_blas *cpu_blas(void)
{
    pthread_once(&blas.once, open_blas);
    if (!blas.why[0])
        return &blas.functions;
    cpu_host->error(FERRY_EUNSUPPORTED, "%s", blas.why);
    return NULL;
}
