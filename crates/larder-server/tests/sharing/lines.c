/* Which cache lines the threads of a program pass to one another: a plugin for QEMU's user emulation, for sharing.rs.
 *
 * Arguments: control=FILE and report=FILE. The first byte of the control file is the number of the phase that is counted, from 1 to 31, or 0.
 * When the program ends, the report has a line for each thread and phase in which it has touched memory,
 *
 *     thread PHASE THREAD ACCESSES
 *
 * and one for each cache line that was passed on, and each function that got it so (eight at most; the rest is the last one's):
 *
 *     line PHASE ADDRESS TIMES FUNCTION
 *
 * The model: every thread has a cache of its own, without limits, kept coherent as processors do it (MESI). A line is passed on when a thread
 * reads or writes what another has written since, and when it writes what another has read since. What is only read is not counted, nor
 * what a thread touches first.
 *
 * QEMU's plugin interface, version 1, is declared here, as its header is in no package of Debian.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info_t;
enum { CB_NO_REGS = 0, MEM_RW = 3 };
typedef void (*tb_trans_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*mem_cb)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *);
typedef void (*exit_cb)(qemu_plugin_id_t, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, tb_trans_cb);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, mem_cb, int, int, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, exit_cb, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *);
uint8_t qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

enum { PHASES = 32, THREADS = 64, LINE_BITS = 6, FUNCTIONS = 8, LINES = 1 << 18 };

struct line {
    uint64_t number; /* the address without its low bits; 0: the place is free */
    uint64_t sharers; /* a bit for each thread that has it in its cache */
    int is_written;
    struct {
        const char *name;
        unsigned long times;
    } got[FUNCTIONS];
};

static struct line *lines[PHASES];
static unsigned long accesses[PHASES][THREADS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const volatile uint8_t *phase_now;
static const char *report;

static struct line *line_of(int phase, uint64_t number) {
    if (!lines[phase] && !(lines[phase] = calloc(LINES, sizeof(struct line))))
        abort();
    uint64_t at = number * 0x9E3779B97F4A7C15u >> 46;
    for (unsigned tries = 0; tries < LINES; tries++) {
        struct line *line = &lines[phase][(at + tries) % LINES];
        if (line->number == 0)
            line->number = number;
        if (line->number == number)
            return line;
    }
    fprintf(stderr, "lines.c: more than %d cache lines in a phase\n", LINES);
    abort();
}

static void note(struct line *line, const char *function) {
    int at = 0;
    while (at < FUNCTIONS - 1 && line->got[at].name && strcmp(line->got[at].name, function) != 0)
        at++;
    line->got[at].name = function;
    line->got[at].times++;
}

static void touched(unsigned thread, qemu_plugin_meminfo_t info, uint64_t address, void *function) {
    int phase = *phase_now;
    if (phase == 0 || phase >= PHASES)
        return;
    if (thread >= THREADS)
        abort();
    uint64_t own = (uint64_t)1 << thread;
    int writes = qemu_plugin_mem_is_store(info);
    pthread_mutex_lock(&mutex);
    accesses[phase][thread]++;
    struct line *line = line_of(phase, address >> LINE_BITS);
    if (writes ? (line->sharers & ~own) != 0 : line->is_written && !(line->sharers & own))
        note(line, function);
    line->sharers = writes ? own : line->sharers | own;
    line->is_written |= writes;
    pthread_mutex_unlock(&mutex);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    for (size_t at = 0; at < qemu_plugin_tb_n_insns(block); at++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, at);
        const char *symbol = qemu_plugin_insn_symbol(instruction);
        const char *name = symbol && *symbol ? symbol : "?";
        qemu_plugin_register_vcpu_mem_cb(instruction, touched, CB_NO_REGS, MEM_RW, (void *)name);
    }
}

static void ended(qemu_plugin_id_t id, void *data) {
    (void)id, (void)data;
    FILE *file = fopen(report, "w");
    if (!file)
        abort();
    pthread_mutex_lock(&mutex);
    for (int phase = 1; phase < PHASES; phase++) {
        for (int thread = 0; thread < THREADS; thread++)
            if (accesses[phase][thread])
                fprintf(file, "thread %d %d %lu\n", phase, thread, accesses[phase][thread]);
        for (unsigned at = 0; lines[phase] && at < LINES; at++) {
            struct line *line = &lines[phase][at];
            for (int got = 0; got < FUNCTIONS && line->got[got].name; got++)
                fprintf(file, "line %d %lx %lu %s\n", phase, (unsigned long)line->number << LINE_BITS,
                        line->got[got].times, line->got[got].name);
        }
    }
    fclose(file);
    pthread_mutex_unlock(&mutex);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info,
                                                               int count, char **arguments) {
    (void)info;
    for (int at = 0; at < count; at++) {
        if (strncmp(arguments[at], "control=", 8) == 0) {
            int file = open(arguments[at] + 8, O_RDONLY);
            void *byte = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
            if (file < 0 || byte == MAP_FAILED)
                return -1;
            phase_now = byte;
        } else if (strncmp(arguments[at], "report=", 7) == 0) {
            report = strdup(arguments[at] + 7);
        }
    }
    if (!phase_now || !report)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
