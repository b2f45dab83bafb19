#include "services/gateway/keychain.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/regular.h"
#include "common/base/text.h"
#include "common/config/settings.h"
#include "common/net/sock.h"
#include "common/store/disk.h"

/* The file: SHA-256 of the rest; the number, 8 bytes; then each provider's jwks message behind its
 * length, 4 bytes. Low bytes first. */
enum {
    KEYCHAIN_MAX = 4096, /* providers: as many as there can be profiles */
    KEYCHAIN_SUM = 32,
    KEYCHAIN_HEAD = KEYCHAIN_SUM + 8,
    KEYCHAIN_FILE_MAX = 16 << 20
};

struct keychain_entry {
    char provider[ALD_PROVIDER_MAX];
    char url[ALD_URL_MAX];
    struct ald_jwks keys; /* none: it was only missed */
    int64_t fetched_at_ms;
    bool fresh;       /* told in this run */
    int64_t fresh_ms; /* monotonic: when they were fetched */
    bool missed;
    int64_t missed_ms; /* monotonic: the first time since keys were told */
};

struct keychain {
    char path[ALD_PATH_MAX + 32];
    pthread_mutex_t lock; /* of the list */
    struct keychain_entry *list;
    size_t count;
    size_t turn;     /* who is said to be missed next */
    uint64_t number; /* as told; 1 = none were */
};

static uint64_t keychain_number(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    while (count-- > 0)
        number = number << 8 | bytes[count];
    return number;
}

static void keychain_put_number(struct ald_buf *out, uint64_t number, size_t count)
{
    for (; count > 0; count--, number >>= 8)
        ald_buf_put_byte(out, (uint8_t)number);
}

/* The entry of a provider; NULL: it has none. */
static struct keychain_entry *keychain_find(keychain_t *self, const char *provider)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->list[i].provider, provider) == 0)
            return &self->list[i];
    return NULL;
}

/* The entry of a provider at this address, made if there is none: keys of another address are
 * forgotten. NULL: there are too many. */
static struct keychain_entry *keychain_entry(keychain_t *self, const char *provider,
                                             const char *url)
{
    struct keychain_entry *entry = keychain_find(self, provider);
    if (entry && strcmp(entry->url, url) == 0)
        return entry;
    if (!entry && self->count == KEYCHAIN_MAX)
        return NULL;
    if (!entry) {
        self->list = realloc(self->list, (self->count + 1) * sizeof *self->list);
        ALD_ASSERT(self->list);
        entry = &self->list[self->count++];
    }
    *entry = (struct keychain_entry){0};
    ald_text_cut(entry->provider, sizeof entry->provider, ald_span_str(provider));
    ald_text_cut(entry->url, sizeof entry->url, ald_span_str(url));
    return entry;
}

/* Take one provider's keys. NULL: they are none. */
static struct keychain_entry *keychain_take(keychain_t *self, struct ald_span bytes)
{
    struct msg_jwks told;
    struct ald_jwks keys;
    if (ald_wire_decode(&MSG_JWKS, &told, bytes) != ALD_OK || !ald_jwks_take(&keys, told.keys))
        return NULL;
    struct keychain_entry *entry = keychain_entry(self, told.provider, told.url);
    if (!entry)
        return NULL;
    entry->keys = keys;
    if (entry->fetched_at_ms != told.fetched_at_ms)
        entry->missed = false; /* whatever was missed: this is what there is now */
    entry->fetched_at_ms = told.fetched_at_ms;
    return entry;
}

/* ---- the file ---- */

static bool keychain_load(keychain_t *self, struct ald_span file)
{
    uint8_t sum[KEYCHAIN_SUM];
    if (file.len < KEYCHAIN_HEAD)
        return false;
    ald_sha256(ald_span_skip(file, KEYCHAIN_SUM), sum);
    if (memcmp(sum, file.data, sizeof sum) != 0)
        return false;
    self->number = keychain_number(file.data + KEYCHAIN_SUM, 8);
    struct ald_span rest = ald_span_skip(file, KEYCHAIN_HEAD);
    while (rest.len >= 4) {
        size_t len = (size_t)keychain_number(rest.data, 4);
        if (len > rest.len - 4 || !keychain_take(self, ald_span_of(rest.data + 4, len)))
            return false;
        rest = ald_span_skip(rest, 4 + len);
    }
    return rest.len == 0;
}

static bool keychain_read(const char *path, struct ald_buf *out)
{
    uint8_t bytes[4096];
    ssize_t n = 0;
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return errno == ENOENT;
    while ((n = read(fd, bytes, sizeof bytes)) > 0)
        ald_buf_put(out, bytes, (size_t)n);
    close(fd);
    return n == 0 && ald_buf_ok(out);
}

keychain_t *keychain_new(const char *path)
{
    keychain_t *self = calloc(1, sizeof *self);
    struct ald_buf file;
    ALD_ASSERT(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)snprintf(self->path, sizeof self->path, "%s", path);
    self->number = 1;
    ald_buf_init(&file, KEYCHAIN_FILE_MAX);
    bool good = keychain_read(path, &file);
    if (good && file.len > 0)
        good = keychain_load(self, ald_buf_span(&file));
    if (!good) {
        ald_log(ALD_WARN, "keychain.unreadable", "path=%s text=\"the tracker tells it again\"",
                ALD_Q(path));
        self->count = 0;
        self->number = 1;
    }
    ald_buf_free(&file);
    return self;
}

void keychain_destroy(keychain_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    free((*self_p)->list);
    free(*self_p);
    *self_p = NULL;
}

static void keychain_put(const struct keychain_entry *entry, struct ald_buf *out)
{
    struct msg_jwks told = {.fetched_at_ms = entry->fetched_at_ms,
                            .keys = ald_jwks_bytes(&entry->keys)};
    struct ald_buf bytes;
    if (entry->keys.count == 0)
        return;
    memcpy(told.provider, entry->provider, sizeof told.provider);
    memcpy(told.url, entry->url, sizeof told.url);
    ald_buf_init(&bytes, 1 << 16);
    if (ald_wire_encode(&MSG_JWKS, &told, &bytes) == ALD_OK) {
        keychain_put_number(out, bytes.len, 4);
        ald_buf_put_span(out, ald_buf_span(&bytes));
    }
    ald_buf_free(&bytes);
}

static bool keychain_write(const char *path, const uint8_t sum[KEYCHAIN_SUM], struct ald_span rest)
{
    int fd = ald_regular_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0)
        return false;
    bool ok = write(fd, sum, KEYCHAIN_SUM) == KEYCHAIN_SUM &&
              ALD_FAILPOINT_WRITE("keychain.write", write(fd, rest.data, rest.len),
                                  write(fd, rest.data, rest.len / 2)) == (ssize_t)rest.len &&
              ALD_FAILPOINT("keychain.sync", fsync(fd), -1) == 0;
    return close(fd) == 0 && ok;
}

static void keychain_save(const keychain_t *self)
{
    char next[sizeof self->path + 8];
    uint8_t sum[KEYCHAIN_SUM];
    struct ald_buf rest;
    ald_buf_init(&rest, KEYCHAIN_FILE_MAX);
    keychain_put_number(&rest, self->number, 8);
    for (size_t i = 0; i < self->count; i++)
        keychain_put(&self->list[i], &rest);
    ald_sha256(ald_buf_span(&rest), sum);
    (void)snprintf(next, sizeof next, "%s.new", self->path);
    bool ok = ald_buf_ok(&rest) && keychain_write(next, sum, ald_buf_span(&rest)) &&
              ALD_FAILPOINT("keychain.rename", rename(next, self->path), -1) == 0;
    if (!ok || ald_disk_sync_folder_of(self->path) != ALD_OK) {
        ald_log(ALD_WARN, "keychain.unsaved", "path=%s error=%s", ALD_Q(self->path),
                ALD_Q(strerror(errno)));
        (void)unlink(next);
    }
    ald_buf_free(&rest);
}

/* ---- what is told ---- */

/* When it was fetched, on our clock: both are of one machine. */
static void keychain_date(struct keychain_entry *entry, struct ald_now now)
{
    int64_t age_ms = now.wall_ms - entry->fetched_at_ms;
    entry->fresh = age_ms > -KEYCHAIN_FRESH_MS && age_ms < KEYCHAIN_FRESH_MS;
    entry->fresh_ms = now.mono_ms - (age_ms > 0 ? age_ms : 0);
}

void keychain_told(keychain_t *self, uint64_t number, zmsg_t *msg)
{
    const struct ald_now now = ald_clock_now();
    size_t providers = 0;
    size_t garbage = 0;
    if (!self || number == 0 || number == self->number)
        return; /* an older tracker tells none */
    (void)pthread_mutex_lock(&self->lock);
    for (zframe_t *frame = zmsg_next(msg); frame; frame = zmsg_next(msg)) {
        struct keychain_entry *entry = keychain_take(self, ald_frame_span(frame));
        garbage += entry == NULL;
        providers += entry != NULL;
        if (entry)
            keychain_date(entry, now);
    }
    (void)pthread_mutex_unlock(&self->lock);
    self->number = number;
    if (garbage > 0)
        ald_log(ALD_ERROR, "keychain.refused", "frames=%zu", garbage);
    ald_log(ALD_INFO, "keychain.taken", "providers=%zu", providers);
    keychain_save(self); /* the loop alone changes what is saved */
}

void keychain_head(keychain_t *self, struct msg_batch *head)
{
    if (!self)
        return;
    head->jwks = self->number;
    (void)pthread_mutex_lock(&self->lock);
    for (size_t i = 0; i < self->count && head->lacks[0] == '\0'; i++) {
        const struct keychain_entry *entry = &self->list[(self->turn + i) % self->count];
        if (!entry->missed)
            continue;
        memcpy(head->lacks, entry->provider, sizeof head->lacks);
        self->turn += i + 1;
    }
    (void)pthread_mutex_unlock(&self->lock);
}

/* ---- any thread ---- */

static enum keychain_hope keychain_hope(const struct keychain_entry *entry, int64_t mono_ms)
{
    if (entry->fresh && mono_ms - entry->fresh_ms < KEYCHAIN_FRESH_MS)
        return KEYCHAIN_FRESH;
    return entry->missed && mono_ms - entry->missed_ms >= KEYCHAIN_OVERDUE_MS ? KEYCHAIN_OVERDUE
                                                                              : KEYCHAIN_AWAITED;
}

void keychain_look(keychain_t *self, const char *provider, const char *url, int64_t mono_ms,
                   struct keychain_found *out)
{
    *out = (struct keychain_found){.hope = KEYCHAIN_AWAITED};
    (void)pthread_mutex_lock(&self->lock);
    const struct keychain_entry *entry = keychain_find(self, provider);
    if (entry && strcmp(entry->url, url) == 0) {
        out->keys = entry->keys;
        out->hope = keychain_hope(entry, mono_ms);
    }
    (void)pthread_mutex_unlock(&self->lock);
}

void keychain_miss(keychain_t *self, const char *provider, const char *url, int64_t mono_ms)
{
    (void)pthread_mutex_lock(&self->lock);
    struct keychain_entry *entry = keychain_entry(self, provider, url);
    if (entry && !entry->missed) {
        entry->missed = true;
        entry->missed_ms = mono_ms;
    }
    (void)pthread_mutex_unlock(&self->lock);
}
