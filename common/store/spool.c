#include "common/store/spool_self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/regular.h"
#include "common/base/text.h"

enum {
    SPOOL_APPLICATION_ID = 0x616c6453, /* "aldS" */
    SPOOL_RETRY_NUMBERS = 1000,
    SPOOL_AUTOCHECKPOINT = 4000, /* pages: on the small disks of gateways a log is room lost */
    SPOOL_FRAME_BYTES = 4096 + 24,
    SPOOL_HEADER_BYTES = 100, /* of a file of the engine's */
    SPOOL_HEADER_APPLICATION = 68
};

/* Numbers are small columns before the bytes, so that counting reads no overflow pages. */
static const struct ald_store_step spool_steps[] = {
    {1, 1,
     "CREATE TABLE spool(num INTEGER PRIMARY KEY, at_ms BIGINT NOT NULL, provider TEXT NOT NULL,"
     " proof TEXT NOT NULL, size BIGINT NOT NULL, sum BLOB NOT NULL, bytes BLOB NOT NULL);"
     "CREATE TABLE damaged(num INTEGER PRIMARY KEY, at_ms BIGINT, provider TEXT, proof TEXT,"
     " size BIGINT, sum BLOB, bytes BLOB);"
     "CREATE TABLE counters(id TEXT NOT NULL, next_num BIGINT NOT NULL);"},
};

bool ald_spool_failed(const ald_spool_t *self)
{
    return self->store == NULL || ald_store_failed(self->store);
}

const char *ald_spool_message(const ald_spool_t *self)
{
    return self->store == NULL ? "the spool is closed" : ald_store_message(self->store);
}

const char *ald_spool_id(const ald_spool_t *self)
{
    return self->id;
}

uint64_t ald_spool_next_number(const ald_spool_t *self)
{
    return self->next;
}

uint64_t ald_spool_last_number(const ald_spool_t *self)
{
    return self->last;
}

void ald_spool_stats(const ald_spool_t *self, struct ald_spool_stats *out)
{
    *out = self->stats;
}

enum ald_rc spool_prepare(ald_spool_t *self, const char *sql, ald_stmt_t **out)
{
    return self->store == NULL ? ALD_IO : ald_store_prepare(self->store, sql, out);
}

/* Take a new id, and write it down in a transaction of its own; sql has it as its parameter. */
static enum ald_rc spool_new_id(ald_spool_t *self, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    ald_ulid_new(self->id);
    if (ald_spool_failed(self))
        return ALD_IO;
    enum ald_rc rc = ald_store_begin(self->store);
    if (rc != ALD_OK)
        return rc;
    rc = spool_prepare(self, sql, &stmt);
    if (rc == ALD_OK) {
        ald_stmt_bind_str(stmt, 1, self->id);
        rc = ald_stmt_run(stmt);
    }
    if (rc == ALD_OK)
        return ald_store_commit(self->store);
    ald_store_rollback(self->store);
    return rc;
}

static enum ald_rc spool_load_id(ald_spool_t *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = spool_prepare(self, "SELECT id, next_num FROM counters", &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    uint64_t next = 1;
    if (rc == ALD_OK) {
        next = (uint64_t)ald_stmt_i64(stmt, 1);
        rc = ald_text_copy(self->id, sizeof self->id, ald_stmt_text(stmt, 0));
        if (rc != ALD_OK)
            rc = ALD_CORRUPT;
    }
    ald_stmt_reset(stmt);
    if (rc == ALD_NOTFOUND)
        rc = spool_new_id(self, "INSERT INTO counters(id, next_num) VALUES(?, 1)");
    /* What was left of the last reservation is skipped: it may have been given. */
    self->next = next > self->limit ? next : self->limit;
    self->limit = self->next;
    self->retry = self->next;
    return rc;
}

enum ald_rc spool_load_lowest(ald_spool_t *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc =
        spool_prepare(self, "SELECT num, at_ms FROM spool ORDER BY num LIMIT 1", &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    self->stats.lowest_num = rc == ALD_OK ? (uint64_t)ald_stmt_i64(stmt, 0) : 0;
    self->stats.oldest_at_ms = rc == ALD_OK ? ald_stmt_i64(stmt, 1) : 0;
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static enum ald_rc spool_load_stats(ald_spool_t *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = spool_prepare(self,
                                   "SELECT count(*), coalesce(sum(" SPOOL_SIZE "), 0),"
                                   " (SELECT count(*) FROM damaged), coalesce(max(num), 0)"
                                   " FROM spool",
                                   &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        self->last = (uint64_t)ald_stmt_i64(stmt, 3);
    if (rc == ALD_OK)
        self->stats = (struct ald_spool_stats){.items = (uint64_t)ald_stmt_i64(stmt, 0),
                                               .bytes = (uint64_t)ald_stmt_i64(stmt, 1),
                                               .damaged = (uint64_t)ald_stmt_i64(stmt, 2)};
    ald_stmt_reset(stmt);
    return rc == ALD_OK ? spool_load_lowest(self) : rc;
}

void spool_keep_reserve(ald_spool_t *self)
{
    if (!self->reserve_gone ||
        ald_disk_room(self->dir, &self->options.room, self->options.reserve_bytes) != ALD_OK)
        return;
    self->reserve_gone = ald_store_reserve(self->reserve, self->options.reserve_bytes) != ALD_OK;
}

bool spool_give_reserve(ald_spool_t *self)
{
    self->reserve_gone = self->options.reserve_bytes > 0;
    return ald_store_unreserve(self->reserve);
}

/* Where the disk is full, the reserve must have room for what is in the log. */
static int64_t spool_autocheckpoint(const ald_spool_t *self)
{
    uint64_t pages = self->options.reserve_bytes / 2 / SPOOL_FRAME_BYTES + 1;
    bool small = self->options.reserve_bytes > 0 && pages < SPOOL_AUTOCHECKPOINT;
    return small ? (int64_t)pages : SPOOL_AUTOCHECKPOINT;
}

struct ald_store_options spool_store_options(const char *path)
{
    return (struct ald_store_options){
        .path = path,
        .application_id = SPOOL_APPLICATION_ID,
        .steps = spool_steps,
        .step_count = ALD_COUNT(spool_steps),
    };
}

static enum ald_rc spool_open_store(ald_spool_t *self, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/spool.db", self->dir);
    struct ald_store_options options = spool_store_options(path);
    options.shrink = true;
    options.wal_autocheckpoint = spool_autocheckpoint(self);
    options.wal_max_bytes = self->options.wal_max_bytes;
    enum ald_rc rc = ald_store_open(&options, &self->store, err);
    if (rc == ALD_FULL && spool_give_reserve(self))
        rc = ald_store_open(&options, &self->store, err);
    return rc;
}

enum ald_rc ald_spool_renumber(ald_spool_t *self)
{
    return spool_new_id(self, "UPDATE counters SET id = ?");
}

static enum ald_rc spool_write_next(ald_spool_t *self, uint64_t next)
{
    ald_stmt_t *stmt = NULL;
    if (self->store == NULL)
        return ALD_IO;
    enum ald_rc rc = ald_store_begin(self->store);
    if (rc != ALD_OK)
        return rc;
    rc = spool_prepare(self, "UPDATE counters SET next_num = ?", &stmt);
    if (rc == ALD_OK) {
        ald_stmt_bind_i64(stmt, 1, (int64_t)next);
        rc = ald_stmt_run(stmt);
    }
    if (rc == ALD_OK)
        rc = ald_store_commit(self->store);
    else
        ald_store_rollback(self->store);
    return rc;
}

/* Half a range ahead of the need, so that a full disk is met while there are numbers in hand. */
static enum ald_rc spool_reserve_numbers(ald_spool_t *self, uint64_t count)
{
    if (self->limit - self->next >= ALD_SPOOL_RANGE / 2 + count)
        return ALD_OK;
    if (self->next < self->retry && self->limit - self->next >= count)
        return ALD_OK;
    uint64_t limit = self->limit + ALD_SPOOL_RANGE + count;
    enum ald_rc rc = spool_write_next(self, limit);
    if (rc == ALD_OK)
        self->limit = limit;
    else
        self->retry = self->next + SPOOL_RETRY_NUMBERS;
    return rc;
}

static enum ald_rc spool_load(ald_spool_t *self, struct ald_err *err)
{
    enum ald_rc rc = spool_open_store(self, err);
    if (rc != ALD_OK)
        return rc;
    rc = spool_load_id(self);
    if (rc == ALD_OK)
        rc = spool_load_stats(self);
    if (rc == ALD_OK) {
        rc = spool_reserve_numbers(self, 0);
        if (rc == ALD_FULL)
            rc = ALD_OK; /* numbers have to wait, but what lies here can be drained */
    }
    if (rc != ALD_OK) {
        rc = ald_err_set(err, rc, "The spool %s can't be read: %s.", self->dir,
                         ald_spool_message(self));
        ald_store_destroy(&self->store);
        return rc;
    }
    spool_keep_reserve(self);
    return ALD_OK;
}

/* ---- is it one? ---- */

/* Before the first checkpoint the file says nothing of its kind yet: its log does. */
static bool spool_is_logged(const char *path)
{
    char log[ALD_STORE_PATH_MAX + 16];
    struct stat st;
    snprintf(log, sizeof log, "%s-wal", path);
    return stat(log, &st) == 0 && st.st_size > 0;
}

static enum ald_rc spool_find_header(const char *path, const uint8_t header[SPOOL_HEADER_BYTES],
                                     struct ald_err *err)
{
    static const char magic[] = "SQLite format 3"; /* and its NUL */
    uint32_t application = 0;
    for (size_t i = 0; i < 4; i++)
        application = application << 8 | header[SPOOL_HEADER_APPLICATION + i];
    if (memcmp(header, magic, sizeof magic) == 0 &&
        (application == SPOOL_APPLICATION_ID || (application == 0 && spool_is_logged(path))))
        return ALD_OK;
    return ald_err_set(err, ALD_VERSION, "%s is no spool's: name the folder of a spool.", path);
}

enum ald_rc ald_spool_find(const char *dir, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    uint8_t header[SPOOL_HEADER_BYTES];
    if (snprintf(path, sizeof path, "%s/spool.db", dir) >= (int)sizeof path)
        return ald_err_set(err, ALD_NOTFOUND, "The path of a spool may have %d bytes.",
                           ALD_STORE_PATH_MAX - 17);
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return ald_err_set(err, errno == ENOENT ? ALD_NOTFOUND : ALD_IO,
                           "There is no spool: %s: %s.", path, ald_regular_why(path, errno));
    ssize_t n = read(fd, header, sizeof header);
    int code = errno;
    close(fd);
    if (n < 0)
        return ald_err_set(err, ALD_IO, "%s can't be read: %s.", path, strerror(code));
    if ((size_t)n < sizeof header)
        return ald_err_set(err, ALD_NOTFOUND, "There is no spool: %s holds nothing.", path);
    return spool_find_header(path, header, err);
}

enum ald_rc ald_spool_open(const struct ald_spool_options *options, ald_spool_t **out,
                           struct ald_err *err)
{
    *out = NULL;
    if (strlen(options->dir) >= ALD_STORE_PATH_MAX - 16)
        return ald_err_set(err, ALD_TOOBIG, "The path of a spool may have %d bytes.",
                           ALD_STORE_PATH_MAX - 17);
    ald_spool_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->options = *options;
    self->options.dir = self->dir;
    self->reserve_gone = options->reserve_bytes > 0;
    snprintf(self->dir, sizeof self->dir, "%s", options->dir);
    snprintf(self->reserve, sizeof self->reserve, "%s/reserve", options->dir);
    enum ald_rc rc = spool_load(self, err);
    if (rc != ALD_OK)
        ald_spool_destroy(&self);
    *out = self;
    return rc;
}

void ald_spool_destroy(ald_spool_t **self_p)
{
    if (*self_p == NULL)
        return;
    ald_store_destroy(&(*self_p)->store);
    free(*self_p);
    *self_p = NULL;
}

enum ald_rc ald_spool_reopen(ald_spool_t *self, struct ald_err *err)
{
    ald_store_destroy(&self->store);
    return spool_load(self, err);
}

enum ald_rc ald_spool_take_numbers(ald_spool_t *self, uint64_t count, uint64_t *first)
{
    ALD_ASSERT(count > 0 && count <= UINT32_MAX);
    enum ald_rc rc = spool_reserve_numbers(self, count);
    if (self->limit - self->next < count)
        return rc;
    *first = self->next;
    self->next += count;
    return ALD_OK;
}
