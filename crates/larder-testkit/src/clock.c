/* A clock that a test moves: preloaded into the servers that are compared, so that both see the same time of day to the
 * microsecond, and deadlines come when the test says so.
 *
 * The file that LARDER_TEST_CLOCK names holds two numbers of 64 bits: the time of day in us since 1970, which stands still
 * until the test changes it, and the nanoseconds that the monotonic clock is put forward. LARDER_TEST_CLOCK_SLOW is how many
 * times slower the monotonic clock runs than it should: a server that adds what has passed since it last read the time of day
 * is not ahead of another then, however busy the machine is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct clocks {
    uint64_t wall_us;
    uint64_t forward_ns;
};

static volatile struct clocks *clocks;
static uint64_t start_ns;
static uint64_t slow = 1;

static uint64_t real_ns(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void open_clocks(void) {
    const char *path = getenv("LARDER_TEST_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof(struct clocks), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    start_ns = real_ns(CLOCK_MONOTONIC);
    const char *factor = getenv("LARDER_TEST_CLOCK_SLOW");
    if (factor) slow = strtoull(factor, NULL, 10);
    if (shared != MAP_FAILED) clocks = shared;
}

static uint64_t monotonic_ns(void) {
    return start_ns + (real_ns(CLOCK_MONOTONIC) - start_ns) / slow + clocks->forward_ns;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    if (!clocks) return (int)syscall(SYS_clock_gettime, id, now);
    uint64_t ns;
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        ns = clocks->wall_us * 1000;
        break;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        ns = monotonic_ns();
        break;
    default:
        return (int)syscall(SYS_clock_gettime, id, now);
    }
    now->tv_sec = (time_t)(ns / 1000000000u);
    now->tv_nsec = (long)(ns % 1000000000u);
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec wall;
    if (clock_gettime(CLOCK_REALTIME, &wall) != 0) return -1;
    now->tv_sec = wall.tv_sec;
    now->tv_usec = wall.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *to) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    if (to) *to = wall.tv_sec;
    return wall.tv_sec;
}
