/* Records how much of each append-only file is on disk, so that a test can cut the power: loaded with LD_PRELOAD.
 *
 * After each fdatasync or fsync of a file whose name ends in ".aof", the length that the file had when the call began is in
 * the file of the same name in the folder SYNC_RECORDS, as text. Each call takes up to SYNC_DELAY_US longer than it does. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Finds the name of an append-only file's record; returns 0 for other files. */
static int record_of(int fd, char *record, size_t size) {
    const char *folder = getenv("SYNC_RECORDS");
    char link[64], path[4096];
    if (!folder) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 4) return 0;
    path[len] = 0;
    char *name = strrchr(path, '/');
    if (!name || strcmp(path + len - 4, ".aof") != 0) return 0;
    return snprintf(record, size, "%s%s", folder, name) < (int)size;
}

static void pause_for_a_while(void) {
    const char *text = getenv("SYNC_DELAY_US");
    uint64_t most = text ? strtoull(text, NULL, 10) : 0;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (most) usleep((useconds_t)((uint64_t)now.tv_nsec / 100 % most));
}

static void note(const char *record, long long length) {
    char text[32];
    pthread_mutex_lock(&lock);
    int file = open(record, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ssize_t len = read(file, text, sizeof text - 1);
    text[len > 0 ? len : 0] = 0;
    if (strtoll(text, NULL, 10) < length) {
        int digits = snprintf(text, sizeof text, "%020lld", length);
        if (pwrite(file, text, (size_t)digits, 0) != digits) abort();
    }
    close(file);
    pthread_mutex_unlock(&lock);
}

static int sync_and_note(long call, int fd) {
    char record[4096];
    struct stat before;
    if (!record_of(fd, record, sizeof record) || fstat(fd, &before) != 0) return (int)syscall(call, fd);
    pause_for_a_while();
    int result = (int)syscall(call, fd);
    if (result == 0) note(record, (long long)before.st_size);
    return result;
}

int fsync(int fd) {
    return sync_and_note(SYS_fsync, fd);
}

int fdatasync(int fd) {
    return sync_and_note(SYS_fdatasync, fd);
}
