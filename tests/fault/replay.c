/* replay.c - a cut at every moment of a record (record.c), in many orders: what a disk may have
 * then, opened and looked at. Nothing that was acknowledged before the cut may be missing.
 *
 *   replay LOG SAID [--seed N] [--states N] [--whole N] [--ignore files|folders]
 *          [--data FOLDER] [--keep FOLDER --kept N] [--said-is-all]
 *
 * SAID: the tokens that the outside saw acknowledged; the record must know them all.
 * --whole N: of each N states one has every page looked at. --ignore: take syncs for nothing, as a
 * lying disk does; then it must fail. --data: what the services left; the record must explain it to
 * the byte. --keep: write N states into FOLDER/0, FOLDER/1 ... with what must be found there.
 *
 * Prints one line `replay key=value ...`; before it a line for each state that is not as it should
 * be, at most ten. Exit 0: there is none.
 */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_MAX = 10, PATH_BYTES = 512, LOOKS = 64 };

static const char *const CUT_NAMES[CUT_COUNT] = {"none", "all",  "prefix", "subset",
                                                 "torn", "tail", "late",   "early"};

static struct {
    const uint8_t *log;
    size_t log_len;
    uint64_t moments, seed, states, whole_every, kept;
    struct disk_lies lies;
    const char *data, *keep;

    uint64_t acked[TOKEN_WORDS];
    uint64_t acks, told; /* told: of these the ones that another service knew of first */
    struct look cache[STORES][LOOKS]; /* the last ones of each store */
    uint64_t prints[STORES][LOOKS];
    struct look *looks[STORES]; /* of this state */
    unsigned turn[STORES];
    uint64_t done, opened, bad, kept_so_far, pending_states;
    uint64_t state; /* of luck */
} self = {.seed = 1, .states = 1000, .whole_every = 100};

uint64_t luck(void)
{
    uint64_t x = self.state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void luck_seed(uint64_t seed)
{
    self.state = seed;
}

bool cut_keeps(enum cut cut, size_t i, size_t prefix)
{
    switch (cut) {
    case CUT_ALL:
        return true;
    case CUT_PREFIX:
    case CUT_TAIL:
        return i < prefix;
    case CUT_SUBSET:
    case CUT_TORN:
        return luck_is(50);
    case CUT_LATE:
        return luck_is(90);
    case CUT_EARLY:
        return luck_is(10);
    case CUT_NONE:
    case CUT_COUNT:
        break;
    }
    return false;
}

static void die(const char *what, const char *why)
{
    (void)fprintf(stderr, "replay: %s: %s\n", what, why);
    exit(2);
}

/* ---- the record ---- */

struct cursor {
    size_t at;
    struct record_head head;
    char name[NAME_BYTES];
    const uint8_t *data;
};

static bool next_note(struct cursor *it)
{
    if (self.log_len - it->at < sizeof it->head)
        return false;
    memcpy(&it->head, self.log + it->at, sizeof it->head);
    size_t len = sizeof it->head + it->head.name_len + it->head.data_len;
    if (it->head.magic != RECORD_MAGIC || it->head.name_len >= NAME_BYTES ||
        self.log_len - it->at < len)
        die("the record", "is not whole");
    memcpy(it->name, self.log + it->at + sizeof it->head, it->head.name_len);
    it->name[it->head.name_len] = '\0';
    it->data = self.log + it->at + sizeof it->head + it->head.name_len;
    it->at += len;
    return true;
}

static void load_log(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
        die(path, "can't be read");
    self.log_len = (size_t)st.st_size;
    self.log = mmap(NULL, self.log_len, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (self.log == MAP_FAILED)
        die(path, strerror(errno));
    struct cursor it = {0};
    while (next_note(&it))
        self.moments++;
}

/* Each token that the outside saw must be in the record: else it was not seen that it was said. */
static void load_said(const char *path)
{
    unsigned long number;
    uint64_t noted[TOKEN_WORDS] = {0};
    struct cursor it = {0};
    FILE *file = fopen(path, "re");
    if (file == NULL)
        die(path, "can't be read");
    while (next_note(&it)) {
        if (it.head.kind == RECORD_YES && it.head.at < TOKENS_MAX)
            noted[it.head.at / 64] |= UINT64_C(1) << it.head.at % 64;
    }
    while (fscanf(file, "%lu", &number) == 1) {
        if (number >= TOKENS_MAX || (noted[number / 64] >> number % 64 & 1) == 0)
            die(path, "a token was acknowledged, and the record does not know it");
    }
    (void)fclose(file);
}

/* ---- states that are kept for others to look at ---- */

static void keep_file(void *context, const char *name, int object)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t len = disk_len(object);
    if (fd < 0 || (len > 0 && write(fd, disk_data(object), len) != (ssize_t)len) || close(fd) != 0)
        die(path, "can't be written");
}

static void keep_state(void)
{
    char path[PATH_BYTES];
    char folder[PATH_BYTES - NAME_BYTES];
    (void)snprintf(folder, sizeof folder, "%s/%llu", self.keep,
                   (unsigned long long)self.kept_so_far++);
    (void)snprintf(path, sizeof path, "%s/spool", folder);
    if (mkdir(folder, 0700) != 0 || mkdir(path, 0700) != 0)
        die(folder, strerror(errno));
    disk_each(keep_file, folder);
    (void)snprintf(path, sizeof path, "%s.said", folder);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        die(path, strerror(errno));
    for (unsigned i = 0; i < TOKENS_MAX; i++) {
        if ((self.acked[i / 64] >> i % 64 & 1) != 0)
            (void)fprintf(file, "%u\n", i);
    }
    if (fclose(file) != 0)
        die(path, "can't be written");
}

/* ---- looking ---- */

static void look_for_tokens(struct look *out)
{
    uint64_t missing = 0;
    unsigned first = 0;
    for (unsigned i = 0; i < TOKEN_WORDS; i++) {
        uint64_t lost = self.acked[i];
        for (unsigned s = 0; s < STORES; s++)
            lost &= ~self.looks[s]->seen[i];
        if (lost != 0 && missing == 0)
            first = i * 64 + (unsigned)__builtin_ctzll(lost);
        missing += (uint64_t)__builtin_popcountll(lost);
    }
    if (missing > 0)
        (void)snprintf(out->why, sizeof out->why, "%llu of %llu acknowledged are lost, such as %u",
                       (unsigned long long)missing, (unsigned long long)self.acks, first);
}

/* A store that holds what another state's held is not opened again. In the sample it is, and must
 * be found the same. */
static void look_once(enum store s, bool whole)
{
    static struct look again;
    uint64_t print = look_print(s);
    unsigned at = 0;
    while (at < LOOKS && self.prints[s][at] != print)
        at++;
    bool known = at < LOOKS;
    if (!known)
        at = self.turn[s]++ % LOOKS;
    struct look *found = self.looks[s] = &self.cache[s][at];
    if (!known || whole) {
        look_at(s, whole, &again);
        self.opened++;
    }
    if (known && whole && again.why[0] == '\0' &&
        memcmp(again.seen, found->seen, sizeof again.seen) != 0)
        die("the engine", "reads a log otherwise than we do");
    if (!known || (whole && again.why[0] != '\0'))
        *found = again;
    self.prints[s][at] = print;
}

static void look(struct look *out)
{
    bool whole = self.whole_every > 0 && self.done % self.whole_every == 0;
    out->why[0] = '\0';
    for (enum store s = 0; s < STORES; s++) {
        char before[WHY_BYTES];
        look_once(s, whole);
        memcpy(before, self.looks[s]->why, sizeof before);
        look_at_mark(s, self.looks[s]); /* which may change where its store does not */
        if (out->why[0] == '\0')
            memcpy(out->why, self.looks[s]->why, sizeof out->why);
        memcpy(self.looks[s]->why, before, sizeof before);
    }
    if (out->why[0] == '\0' && self.acks > 0)
        look_at_key(out);
    if (out->why[0] == '\0')
        look_for_tokens(out);
}

static void state(uint64_t moment, enum cut cut)
{
    static struct look out;
    uint64_t luck_before = self.state;
    self.pending_states += disk_pending();
    disk_cut(cut);
    if (self.kept_so_far * self.states < self.done * self.kept && self.acks > 0)
        keep_state();
    look(&out);
    disk_mend();
    self.done++;
    if (out.why[0] == '\0')
        return;
    if (self.bad++ < SHOWN_MAX)
        (void)printf("seed %llu state %llu: after note %llu of %llu, cut %s (luck %016llx): %s\n",
                     (unsigned long long)self.seed, (unsigned long long)self.done,
                     (unsigned long long)moment, (unsigned long long)self.moments, CUT_NAMES[cut],
                     (unsigned long long)luck_before, out.why);
}

/* As many states as are due by now; where nothing is open there is but one. */
static void moment(uint64_t n)
{
    uint64_t due = (uint64_t)((double)self.states * (double)n / (double)self.moments);
    if (self.done >= due)
        return;
    if (!disk_pending()) {
        state(n, CUT_NONE);
        return;
    }
    while (self.done < due)
        state(n, luck() % CUT_COUNT);
}

/* ---- the end ---- */

static void explain_file(void *context, const char *name, int object)
{
    char path[PATH_BYTES];
    struct stat st;
    uint64_t *files = context;
    (void)snprintf(path, sizeof path, "%s/%s", self.data, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || (size_t)st.st_size != disk_len(object))
        die(path, "has another length than the record says");
    const uint8_t *found =
        st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (st.st_size > 0 && memcmp(found, disk_data(object), (size_t)st.st_size) != 0)
        die(path, "is not what the record says");
    (void)close(fd);
    ++*files;
}

static void explain(void)
{
    uint64_t files = 0;
    if (self.data == NULL)
        return;
    disk_cut(CUT_ALL);
    disk_each(explain_file, &files);
    disk_mend();
    if (files < STORES)
        die(self.data, "the record speaks of other files");
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void owe(uint64_t token, bool yes)
{
    if (token >= TOKENS_MAX || (self.acked[token / 64] >> token % 64 & 1) != 0)
        return;
    self.acked[token / 64] |= UINT64_C(1) << token % 64;
    self.acks++;
    self.told += !yes;
}

static void run(void)
{
    struct cursor it = {0};
    double begun = seconds();
    for (uint64_t n = 1; next_note(&it); n++) {
        disk_note(&it.head, it.name, it.data, &self.lies);
        if (it.head.kind == RECORD_YES || it.head.kind == RECORD_TOLD)
            owe(it.head.at, it.head.kind == RECORD_YES);
        moment(n);
    }
    double took = seconds() - begun;
    explain();
    (void)printf(
        "replay seed=%llu notes=%llu acknowledged=%llu told=%llu states=%llu unsynced=%llu "
        "opened=%llu bad=%llu seconds=%.1f rate=%.0f\n",
        (unsigned long long)self.seed, (unsigned long long)self.moments,
        (unsigned long long)self.acks, (unsigned long long)self.told, (unsigned long long)self.done,
        (unsigned long long)self.pending_states, (unsigned long long)self.opened,
        (unsigned long long)self.bad, took, (double)self.done / took);
}

static void option(const char *name, const char *value)
{
    unsigned long long number = strtoull(value, NULL, 10);
    if (strcmp(name, "--seed") == 0)
        self.seed = number;
    else if (strcmp(name, "--states") == 0)
        self.states = number;
    else if (strcmp(name, "--whole") == 0)
        self.whole_every = number;
    else if (strcmp(name, "--kept") == 0)
        self.kept = number;
    else if (strcmp(name, "--data") == 0)
        self.data = value;
    else if (strcmp(name, "--keep") == 0)
        self.keep = value;
    else if (strcmp(name, "--ignore") == 0 && strcmp(value, "files") == 0)
        self.lies.files = true;
    else if (strcmp(name, "--ignore") == 0 && strcmp(value, "folders") == 0)
        self.lies.folders = true;
    else
        die(name, "is not known");
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage", "replay LOG SAID [--seed N] [--states N] ...");
    for (int i = 3; i + 1 < argc; i += 2)
        option(argv[i], argv[i + 1]);
    if (self.keep == NULL)
        self.kept = 0;
    load_log(argv[1]);
    load_said(argv[2]);
    luck_seed(self.seed);
    vfs_register();
    run();
    return self.bad > 0 ? 1 : 0;
}
