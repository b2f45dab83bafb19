#include "services/gateway/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/regular.h"
#include "common/config/settings.h"
#include "common/store/disk.h"
#include "common/store/report.h"
#include "common/store/spool.h"

/* The file: the keys, then their SHA-256. The first format has none. */
enum { KEYRING_BYTES = ALD_KEYS_MAX * ALD_KEY_RECORD, KEYRING_SUM = 32 };

struct keyring {
    char path[ALD_PATH_MAX + 32];
    pthread_mutex_t lock; /* of keys */
    struct ald_keys keys;
    atomic_uint generation; /* 0 = no keys yet */
    uint8_t blob[KEYRING_BYTES];
    size_t blob_len;
};

static bool keyring_save(const keyring_t *self);

static bool keyring_use(keyring_t *self, struct ald_span blob)
{
    struct ald_keys keys;
    if (blob.len > sizeof self->blob || ald_keys_load(&keys, blob) != ALD_OK)
        return false;
    memcpy(self->blob, blob.data, blob.len);
    self->blob_len = blob.len;
    (void)pthread_mutex_lock(&self->lock);
    self->keys = keys;
    atomic_fetch_add(&self->generation, 1);
    (void)pthread_mutex_unlock(&self->lock);
    return true;
}

/* The keys of a file; empty: it is not as it was written. */
static struct ald_span keyring_blob(struct ald_span file)
{
    uint8_t sum[KEYRING_SUM];
    if (file.len % ALD_KEY_RECORD == 0)
        return file;
    if (file.len < KEYRING_SUM)
        return ald_span_of(NULL, 0);
    struct ald_span blob = ald_span_of(file.data, file.len - KEYRING_SUM);
    ald_sha256(blob, sum);
    bool whole = memcmp(sum, file.data + blob.len, sizeof sum) == 0;
    return whole ? blob : ald_span_of(NULL, 0);
}

keyring_t *keyring_new(const char *path)
{
    keyring_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)snprintf(self->path, sizeof self->path, "%s", path);
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0 && errno != ENOENT)
        ald_log(ALD_WARN, "keyring.unreadable", "path=%s text=%s", ALD_Q(path),
                ALD_Q(ald_regular_why(path, errno)));
    if (fd < 0)
        return self;
    uint8_t bytes[KEYRING_BYTES + KEYRING_SUM + 1];
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n <= 0 || !keyring_use(self, keyring_blob(ald_span_of(bytes, (size_t)n))))
        ald_log(ALD_WARN, "keyring.unreadable", "path=%s", ALD_Q(path));
    else if (n % ALD_KEY_RECORD == 0)
        (void)keyring_save(self); /* from now on with its sum */
    explicit_bzero(bytes, sizeof bytes);
    return self;
}

enum ald_rc keyring_verify(const char *dir, struct ald_report *report, struct ald_err *err)
{
    char path[ALD_PATH_MAX + 32];
    uint8_t bytes[KEYRING_BYTES + KEYRING_SUM + 1];
    struct ald_keys keys;
    enum ald_rc rc = ald_spool_check(dir, report, err);
    (void)snprintf(path, sizeof path, "%s/callback.keys", dir);
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0 && errno == ENOENT)
        return rc;
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || ald_keys_load(&keys, keyring_blob(ald_span_of(bytes, (size_t)n))) != ALD_OK)
        ald_report_problem(report, "callback.keys in the spool's folder is not as it was written: "
                                   "remove it, the tracker tells the keys again");
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(&keys, sizeof keys);
    return rc;
}

void keyring_destroy(keyring_t **self_p)
{
    keyring_t *self = *self_p;
    if (!self)
        return;
    (void)pthread_mutex_destroy(&self->lock);
    explicit_bzero(self, sizeof *self);
    free(self);
    *self_p = NULL;
}

static bool keyring_write(const char *path, const uint8_t *bytes, size_t len)
{
    uint8_t sum[KEYRING_SUM];
    int fd = ald_regular_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0)
        return false;
    ald_sha256(ald_span_of(bytes, len), sum);
    bool ok = ALD_FAILPOINT_WRITE("keyring.write", write(fd, bytes, len),
                                  write(fd, bytes, len / 2)) == (ssize_t)len &&
              write(fd, sum, sizeof sum) == (ssize_t)sizeof sum &&
              ALD_FAILPOINT("keyring.sync", fsync(fd), -1) == 0;
    return close(fd) == 0 && ok;
}

static bool keyring_save(const keyring_t *self)
{
    char next[sizeof self->path + 8];
    (void)snprintf(next, sizeof next, "%s.new", self->path);
    if (keyring_write(next, self->blob, self->blob_len) &&
        ALD_FAILPOINT("keyring.rename", rename(next, self->path), -1) == 0)
        return ald_disk_sync_folder_of(self->path) == ALD_OK;
    int error = errno;
    (void)unlink(next);
    errno = error;
    return false;
}

void keyring_take(keyring_t *self, struct ald_span blob)
{
    if (blob.len == 0 || ald_span_eq(blob, ald_span_of(self->blob, self->blob_len)))
        return;
    if (!keyring_use(self, blob)) {
        ald_log(ALD_ERROR, "keyring.refused", "bytes=%zu", blob.len);
        return;
    }
    ald_log(ALD_INFO, "keyring.taken", "keys=%zu", blob.len / ALD_KEY_RECORD);
    if (!keyring_save(self))
        ald_log(ALD_WARN, "keyring.unsaved", "path=%s error=%s", ALD_Q(self->path),
                ALD_Q(strerror(errno)));
}

const struct ald_keys *keyring_keys(keyring_t *self, struct keyring_copy *copy)
{
    unsigned generation = atomic_load_explicit(&self->generation, memory_order_acquire);
    if (generation == 0)
        return NULL;
    if (copy->generation != generation) {
        (void)pthread_mutex_lock(&self->lock);
        copy->keys = self->keys;
        copy->generation = atomic_load(&self->generation);
        (void)pthread_mutex_unlock(&self->lock);
    }
    return &copy->keys;
}

bool keyring_known(keyring_t *self)
{
    return atomic_load(&self->generation) != 0;
}
