/* A disk that fails when it is told to, between a server and its files; loaded with LD_PRELOAD.
 *
 * The file that DISK_FAULTS names says what fails, one fault a line, and may come and go while the server runs:
 *
 *     CALL PART ERRNO [short | hold]
 *
 * CALL on files whose path contains PART fails with this number. With `short`, every other call writes the half of its
 * bytes first. With `hold` the call does not fail: it waits for as long as the file says so. stdio does not call `write` through the library's table of symbols: `fwrite` is a call of its own here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, FAILS, SHORT, HOLD };

/* What happens to a call on a path at this moment; sets errno when it fails. */
static int fault_now(const char *call, const char *path) {
    static unsigned calls;
    const char *name = getenv("DISK_FAULTS");
    int fd = name ? (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (fd < 0) return NONE;
    char text[4096];
    long len = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    text[len > 0 ? len : 0] = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char what[32], part[256], mode[16] = "";
        int number;
        if (sscanf(line, "%31s %255s %d %15s", what, part, &number, mode) < 3) continue;
        if (strcmp(what, call) != 0 || !strstr(path, part)) continue;
        if (strcmp(mode, "hold") == 0) return HOLD;
        if (*mode && __sync_fetch_and_add(&calls, 1) % 2 == 0) return SHORT;
        errno = number;
        return FAILS;
    }
    return NONE;
}

static int fault(const char *call, const char *path) {
    int now;
    while ((now = fault_now(call, path)) == HOLD) usleep(500);
    return now;
}

static int fault_of(const char *call, int fd) {
    char link[64], path[4096];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long len = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = saved;
    if (len <= 0 || path[0] != '/') return NONE;
    path[len] = 0;
    return fault(call, path);
}

ssize_t write(int fd, const void *bytes, size_t len) {
    int now = fault_of("write", fd);
    if (now == FAILS) return -1;
    return syscall(SYS_write, fd, bytes, now == SHORT ? len / 2 : len);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (fault_of("write", fd) != NONE) return -1;
    return syscall(SYS_writev, fd, parts, count);
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    static size_t (*next)(const void *, size_t, size_t, FILE *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "fwrite");
    return fault_of("fwrite", fileno(file)) == NONE ? next(bytes, size, count, file) : 0;
}

int fsync(int fd) {
    return fault_of("sync", fd) == NONE ? (int)syscall(SYS_fsync, fd) : -1;
}

int ftruncate64(int fd, off64_t len) {
    return fault_of("truncate", fd) == NONE ? (int)syscall(SYS_ftruncate, fd, len) : -1;
}

int ftruncate(int fd, off_t len) {
    return ftruncate64(fd, len);
}

int fdatasync(int fd) {
    return fault_of("sync", fd) == NONE ? (int)syscall(SYS_fdatasync, fd) : -1;
}

int sync_file_range(int fd, off64_t from, off64_t len, unsigned flags) {
    return fault_of("range", fd) == NONE ? (int)syscall(SYS_sync_file_range, fd, from, len, flags) : -1;
}

int rename(const char *from, const char *to) {
    return fault("rename", from) == NONE ? (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) : -1;
}
