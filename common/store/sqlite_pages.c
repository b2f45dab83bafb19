#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/store/sqlite.h"

/* The engine has no sums of its pages: a flipped bit in a row is a row. Here the last 16 bytes of
 * each page, which it leaves to us (byte 20 of the file says so), are a sum of the page and of its
 * number. It is made when a page is written to the file and looked at when it is read; pages in the
 * log have the log's own sums. Nothing is refused: that is for who looks (ald_store_check), and
 * what a service comes upon is said loudly.
 *
 * Two sums, one of the words and one of the sums: one flipped bit changes the first for certain. A
 * page of zeros has none: the file has grown over it and it was never written. */

enum {
    PAGES_SUM = STORE_PAGE_SUM_BYTES,
    PAGES_MIN = 512,
    PAGES_MAX = 65536,
    PAGES_USUAL = 4096,
    PAGES_SIZE_AT = 16, /* in the file's header: two bytes, high one first; 1 is 65536 */
    PAGES_SUM_AT = 20,
    PAGES_TOLD_MAX = 16
};

struct pages_file {
    sqlite3_file base; /* first: it is what the engine has */
    sqlite3_file *real;
    char name[64];  /* for the log: the end of its path */
    uint8_t *room;  /* of a page that is written */
    int page_bytes; /* 0: pages have no sums, or it is not known yet */
    unsigned told_count;
    sqlite3_int64 told[PAGES_TOLD_MAX]; /* what was said is not said again */
    store_page_fn *fn;                  /* who looks, instead of the log */
    void *context;
};

static struct {
    pthread_mutex_t lock;
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
} pages_system = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct pages_file *pages_of(sqlite3_file *file)
{
    return (struct pages_file *)(void *)file;
}

/* Not looked at word by word by a sanitizer: a checkpoint would fall behind its commits. */
__attribute__((no_sanitize_address)) static void pages_sum(const uint8_t *page, int bytes,
                                                           sqlite3_int64 number, uint64_t out[2])
{
    uint64_t words = (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t sums = ~words;
    for (int at = 0; at < bytes - PAGES_SUM; at += 8) {
        uint64_t word;
        memcpy(&word, page + at, sizeof word);
        words += word;
        sums += words;
    }
    out[0] = words;
    out[1] = sums;
}

static bool pages_blank(const uint8_t *page, int bytes)
{
    return page[0] == 0 && memcmp(page, page + 1, (size_t)bytes - 1) == 0;
}

static bool pages_whole(const uint8_t *page, int bytes, sqlite3_int64 number)
{
    uint64_t sum[2];
    pages_sum(page, bytes, number, sum);
    return memcmp(sum, page + bytes - PAGES_SUM, PAGES_SUM) == 0 || pages_blank(page, bytes);
}

/* What the first page says of all of them. */
static void pages_learn(struct pages_file *self, const uint8_t *header)
{
    int bytes = header[PAGES_SIZE_AT] << 8 | header[PAGES_SIZE_AT + 1];
    bytes = bytes == 1 ? PAGES_MAX : bytes;
    bool sane = bytes >= PAGES_MIN && (bytes & (bytes - 1)) == 0;
    self->page_bytes = sane && header[PAGES_SUM_AT] == PAGES_SUM ? bytes : 0;
}

static void pages_fault(struct pages_file *self, int64_t number)
{
    if (self->fn != NULL) {
        self->fn(self->context, number);
        return;
    }
    for (unsigned i = 0; i < self->told_count; i++)
        if (self->told[i] == number)
            return;
    if (self->told_count == PAGES_TOLD_MAX)
        return;
    self->told[self->told_count++] = number;
    ald_log(
        ALD_ERROR, "store.damaged",
        "file=%s page=%lld text=\"what was read is not what was written: look with aldaba fsck, "
        "and put back a backup\"",
        ALD_Q(self->name), (long long)number);
}

static bool pages_is_one(const struct pages_file *self, int len, sqlite3_int64 at)
{
    return self->page_bytes > 0 && len == self->page_bytes && at % len == 0;
}

static int pages_read(sqlite3_file *file, void *data, int len, sqlite3_int64 at)
{
    struct pages_file *self = pages_of(file);
    int code = self->real->pMethods->xRead(self->real, data, len, at);
    if (code != SQLITE_OK)
        return code;
    if (at == 0 && len > PAGES_SUM_AT)
        pages_learn(self, data);
    if (pages_is_one(self, len, at) && !pages_whole(data, len, at / len + 1))
        pages_fault(self, at / len + 1);
    return SQLITE_OK;
}

static int pages_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
    struct pages_file *self = pages_of(file);
    uint64_t sum[2];
    if (at == 0 && len > PAGES_SUM_AT)
        pages_learn(self, data);
    if (!pages_is_one(self, len, at))
        return self->real->pMethods->xWrite(self->real, data, len, at);
    if (self->room == NULL) {
        self->room = malloc(PAGES_MAX);
        ALD_ASSERT(self->room != NULL);
    }
    pages_sum(data, len, at / len + 1, sum);
    memcpy(self->room, data, (size_t)len - PAGES_SUM);
    memcpy(self->room + len - PAGES_SUM, sum, PAGES_SUM);
    return self->real->pMethods->xWrite(self->real, self->room, len, at);
}

static int pages_close(sqlite3_file *file)
{
    struct pages_file *self = pages_of(file);
    free(self->room);
    return self->real->pMethods->xClose(self->real);
}

/* ---- the rest is the file system's ---- */

#define PAGES_PASS(name, parameters, arguments)                                                    \
    static int pages_##name parameters                                                             \
    {                                                                                              \
        sqlite3_file *real = pages_of(file)->real;                                                 \
        return real->pMethods->name arguments;                                                     \
    }

PAGES_PASS(xTruncate, (sqlite3_file * file, sqlite3_int64 len), (real, len))
PAGES_PASS(xSync, (sqlite3_file * file, int flags), (real, flags))
PAGES_PASS(xFileSize, (sqlite3_file * file, sqlite3_int64 *len), (real, len))
PAGES_PASS(xLock, (sqlite3_file * file, int level), (real, level))
PAGES_PASS(xUnlock, (sqlite3_file * file, int level), (real, level))
PAGES_PASS(xCheckReservedLock, (sqlite3_file * file, int *out), (real, out))
PAGES_PASS(xFileControl, (sqlite3_file * file, int what, void *arg), (real, what, arg))
PAGES_PASS(xSectorSize, (sqlite3_file * file), (real))
PAGES_PASS(xDeviceCharacteristics, (sqlite3_file * file), (real))
PAGES_PASS(xShmMap, (sqlite3_file * file, int page, int bytes, int extend, void volatile **out),
           (real, page, bytes, extend, out))
PAGES_PASS(xShmLock, (sqlite3_file * file, int at, int n, int flags), (real, at, n, flags))
PAGES_PASS(xShmUnmap, (sqlite3_file * file, int remove), (real, remove))

static void pages_xShmBarrier(sqlite3_file *file)
{
    sqlite3_file *real = pages_of(file)->real;
    real->pMethods->xShmBarrier(real);
}

/* Without the third version's: nothing is mapped, all is read and written here. */
static const sqlite3_io_methods pages_methods = {
    .iVersion = 2,
    .xClose = pages_close,
    .xRead = pages_read,
    .xWrite = pages_write,
    .xTruncate = pages_xTruncate,
    .xSync = pages_xSync,
    .xFileSize = pages_xFileSize,
    .xLock = pages_xLock,
    .xUnlock = pages_xUnlock,
    .xCheckReservedLock = pages_xCheckReservedLock,
    .xFileControl = pages_xFileControl,
    .xSectorSize = pages_xSectorSize,
    .xDeviceCharacteristics = pages_xDeviceCharacteristics,
    .xShmMap = pages_xShmMap,
    .xShmLock = pages_xShmLock,
    .xShmBarrier = pages_xShmBarrier,
    .xShmUnmap = pages_xShmUnmap,
};

static int pages_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *got)
{
    struct pages_file *self = pages_of(out);
    (void)vfs;
    if ((flags & SQLITE_OPEN_MAIN_DB) == 0)
        return pages_system.real->xOpen(pages_system.real, name, out, flags, got);
    *self = (struct pages_file){.real = (sqlite3_file *)(void *)(self + 1)};
    int code = pages_system.real->xOpen(pages_system.real, name, self->real, flags, got);
    if (self->real->pMethods == NULL)
        return code;
    ALD_ASSERT(self->real->pMethods->iVersion >= 2);
    const char *slash = name != NULL ? strrchr(name, '/') : NULL;
    (void)strncpy(self->name, slash != NULL ? slash + 1 : "", sizeof self->name - 1);
    self->base.pMethods = &pages_methods;
    return code;
}

sqlite3_vfs *store_pages_system(void)
{
    (void)pthread_mutex_lock(&pages_system.lock);
    sqlite3_vfs *real = sqlite3_vfs_find(NULL);
    ALD_ASSERT(real != NULL);
    if (pages_system.real != real) {
        if (pages_system.real != NULL)
            (void)sqlite3_vfs_unregister(&pages_system.vfs);
        pages_system.real = real;
        pages_system.vfs = *real;
        pages_system.vfs.zName = "aldaba-pages";
        pages_system.vfs.szOsFile = (int)sizeof(struct pages_file) + real->szOsFile;
        pages_system.vfs.xOpen = pages_open;
        ALD_ASSERT(sqlite3_vfs_register(&pages_system.vfs, 0) == SQLITE_OK);
    }
    (void)pthread_mutex_unlock(&pages_system.lock);
    return &pages_system.vfs;
}

const char *store_pages_vfs(void)
{
    return store_pages_system()->zName;
}

/* ---- looking ---- */

static struct pages_file *pages_file_of(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    int code = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    bool ours = code == SQLITE_OK && file != NULL && file->pMethods == &pages_methods;
    return ours ? pages_of(file) : NULL;
}

int store_pages_ask(sqlite3 *db)
{
    int reserved = PAGES_SUM;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
}

bool store_pages_summed(sqlite3 *db)
{
    const struct pages_file *self = pages_file_of(db);
    return self != NULL && self->page_bytes > 0;
}

void store_pages_watch(sqlite3 *db, store_page_fn *fn, void *context)
{
    struct pages_file *self = pages_file_of(db);
    if (self == NULL)
        return;
    self->fn = fn;
    self->context = context;
    for (unsigned i = 0; fn != NULL && i < self->told_count; i++)
        fn(context, self->told[i]); /* in the engine's memory, and not read again */
}

void store_pages_like(sqlite3 *copy, sqlite3 *original)
{
    struct pages_file *self = pages_file_of(copy);
    const struct pages_file *other = pages_file_of(original);
    if (self != NULL && other != NULL)
        self->page_bytes = other->page_bytes;
}

/* The first page may be the one that rotted, and say that there are no sums: one that is right
 * elsewhere says more. */
static bool pages_find_sums(struct pages_file *self, uint8_t *page, sqlite3_int64 len)
{
    for (sqlite3_int64 at = 0; at + PAGES_USUAL <= len; at += PAGES_USUAL) {
        if (self->real->pMethods->xRead(self->real, page, PAGES_USUAL, at) == SQLITE_OK &&
            !pages_blank(page, PAGES_USUAL) && pages_whole(page, PAGES_USUAL, at / PAGES_USUAL + 1))
            return true;
    }
    return false;
}

int store_pages_read_all(sqlite3 *db)
{
    struct pages_file *self = pages_file_of(db);
    sqlite3_int64 len = 0;
    if (self == NULL)
        return SQLITE_OK;
    uint8_t *page = malloc(PAGES_MAX);
    ALD_ASSERT(page != NULL);
    int code = pages_xFileSize(&self->base, &len);
    int bytes = self->page_bytes;
    if (code == SQLITE_OK && bytes == 0 && pages_find_sums(self, page, len))
        bytes = PAGES_USUAL;
    for (sqlite3_int64 at = 0; code == SQLITE_OK && bytes > 0 && at + bytes <= len; at += bytes) {
        code = self->real->pMethods->xRead(self->real, page, bytes, at);
        if (code == SQLITE_OK && !pages_whole(page, bytes, at / bytes + 1))
            pages_fault(self, at / bytes + 1);
    }
    free(page);
    return code;
}
