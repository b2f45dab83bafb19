#include "services/tracker/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/regular.h"
#include "common/store/disk.h"

/* What the store knows: of each key of the file, in its order, a mark that it is there, the key's
 * id, and the digest. The first signs. */
static const char *const KEYFILE_FACTS[ALD_KEYS_MAX] = {"key0", "key1", "key2", "key3"};
enum { KEYFILE_ID_BIT = 48 };
static const uint64_t KEYFILE_THERE = UINT64_C(1) << 56;

static enum ald_rc keyfile_write(const char *path, const struct ald_keys *keys, struct ald_err *err)
{
    char fresh[PATH_MAX];
    int n = snprintf(fresh, sizeof fresh, "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof fresh)
        return ald_err_set(err, ALD_TOOBIG, "%s: the path is too long", path);
    size_t size = keys->count * ALD_KEY_RECORD;
    int fd = ald_regular_open(fresh, O_CREAT | O_TRUNC | O_WRONLY);
    bool ok = fd >= 0 &&
              ALD_FAILPOINT_WRITE("keyfile.write", write(fd, keys->record, size),
                                  write(fd, keys->record, size / 2)) == (ssize_t)size &&
              ALD_FAILPOINT("keyfile.sync", fsync(fd), -1) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && ALD_FAILPOINT("keyfile.rename", rename(fresh, path), -1) == 0 &&
         ald_disk_sync_folder_of(path) == ALD_OK;
    if (!ok)
        return ald_err_set(err, ALD_IO, "%s: cannot write the callback key: %s", path,
                           ald_regular_why(fresh, errno));
    return ALD_OK;
}

static enum ald_rc keyfile_read(int fd, const char *path, struct ald_keys *keys,
                                struct ald_err *err)
{
    uint8_t bytes[ALD_KEYS_MAX * ALD_KEY_RECORD + 1];
    struct stat facts;
    ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0 || fstat(fd, &facts) != 0)
        return ald_err_set(err, ALD_IO, "%s: cannot be read: %s", path, strerror(errno));
    if ((facts.st_mode & 077) != 0)
        return ald_err_set(err, ALD_INVALID, "%s: others may read it; chmod 600 it", path);
    enum ald_rc rc = ald_keys_load(keys, ald_span_of(bytes, (size_t)got));
    if (rc == ALD_EXISTS)
        return ald_err_set(err, ALD_INVALID,
                           "%s: two of its keys have the same number, or one is there twice; make "
                           "the new one again, by `aldaba keys new callback`",
                           path);
    if (rc != ALD_OK)
        return ald_err_set(err, ALD_INVALID,
                           "%s: holds no callback keys (one to %d records of %d bytes, made by "
                           "`aldaba keys new callback`)",
                           path, ALD_KEYS_MAX, ALD_KEY_RECORD);
    return ALD_OK;
}

/* Make the first key. A store that is there has given out URLs of another one. */
static enum ald_rc keyfile_make(const struct ald_settings *settings, const char *path,
                                struct ald_keys *keys, struct ald_err *err)
{
    char store[PATH_MAX];
    int n = snprintf(store, sizeof store, "%s/tracker.db", settings->store.data);
    if (n > 0 && (size_t)n < sizeof store && access(store, F_OK) == 0)
        ald_log(ALD_ERROR, "keys.gone",
                "path=%s text=\"the callback key is not there and a new one is made: callback URLs "
                "that are out in the world are refused until the old file is back\"",
                ALD_Q(path));
    *keys = (struct ald_keys){0};
    ald_keys_rotate(keys);
    enum ald_rc rc = keyfile_write(path, keys, err);
    if (rc == ALD_OK)
        ald_log(
            ALD_INFO, "keys.made",
            "path=%s text=\"keep a copy, as aldaba backup does: without it no callback URL that "
            "is out in the world is genuine any more\"",
            ALD_Q(path));
    return rc;
}

static enum ald_rc keyfile_path(const struct ald_settings *settings, char out[PATH_MAX],
                                struct ald_err *err)
{
    const char *named = settings->security.callback_keys;
    int n = named[0] != '\0' ? snprintf(out, PATH_MAX, "%s", named)
                             : snprintf(out, PATH_MAX, "%s/callback.key", settings->store.data);
    if (n < 0 || n >= PATH_MAX)
        return ald_err_set(err, ALD_TOOBIG, "the path of the callback keys is too long");
    return ALD_OK;
}

enum ald_rc keyfile_load(const struct ald_settings *settings, struct ald_keys *keys, bool *made,
                         struct ald_err *err)
{
    char path[PATH_MAX];
    *made = false;
    enum ald_rc rc = keyfile_path(settings, path, err);
    if (rc != ALD_OK)
        return rc;
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0 && errno == ENOENT && settings->security.callback_keys[0] == '\0') {
        *made = true;
        return keyfile_make(settings, path, keys, err);
    }
    if (fd < 0)
        return ald_err_set(err, ALD_IO, "%s: cannot be opened: %s", path,
                           ald_regular_why(path, errno));
    rc = keyfile_read(fd, path, keys, err);
    close(fd);
    return rc;
}

enum ald_rc keyfile_copy(const struct ald_keys *keys, const char *dir, struct ald_err *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/callback.key", dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "the path of the callback keys is too long");
    return keyfile_write(path, keys, err);
}

/* ---- what the store knows of them ---- */

static uint64_t keyfile_fact(const uint8_t record[ALD_KEY_RECORD])
{
    uint8_t sum[32];
    uint64_t digest = 0;
    ald_sha256(ald_span_of(record, ALD_KEY_RECORD), sum);
    for (unsigned i = 0; i < KEYFILE_ID_BIT / 8; i++)
        digest = digest << 8 | sum[i];
    return KEYFILE_THERE | (uint64_t)record[0] << KEYFILE_ID_BIT | digest;
}

/* Is the key of this fact among keys? ALD_INVALID: one of its id is, and it is another. */
static enum ald_rc keyfile_find(const struct ald_keys *keys, uint64_t fact)
{
    for (unsigned i = 0; i < keys->count; i++) {
        uint64_t own = keyfile_fact(keys->record[i]);
        if (own >> KEYFILE_ID_BIT == fact >> KEYFILE_ID_BIT)
            return own == fact ? ALD_OK : ALD_INVALID;
    }
    return ALD_NOTFOUND;
}

static enum ald_rc keyfile_compare(const uint64_t facts[ALD_KEYS_MAX], const struct ald_keys *keys,
                                   const char *path, struct ald_err *err)
{
    for (unsigned i = 0; i < ALD_KEYS_MAX; i++) {
        uint64_t fact = facts[i];
        enum ald_rc rc = fact == 0 ? ALD_OK : keyfile_find(keys, fact);
        if (rc == ALD_OK || (rc == ALD_NOTFOUND && i > 0)) /* an old key may be taken out */
            continue;
        return ald_err_set(err, ALD_INVALID,
                           "%.72s %s the callback URLs given out: put the right file back, a "
                           "backup has it. Is it lost: set no callback_keys, have no callback.key "
                           "in store.data; a new key is made",
                           path,
                           rc == ALD_INVALID ? "was altered since it signed"
                                             : "has not the key that signed");
    }
    return ALD_OK;
}

enum ald_rc keyfile_check(const struct ald_settings *settings, struct vault *vault,
                          const struct ald_keys *keys, bool made, struct ald_err *err)
{
    char path[PATH_MAX];
    bool same = true;
    uint64_t facts[ALD_KEYS_MAX];
    for (unsigned i = 0; i < ALD_KEYS_MAX; i++)
        facts[i] = (uint64_t)vault_meta(vault, KEYFILE_FACTS[i]);
    enum ald_rc rc = keyfile_path(settings, path, err);
    if (rc == ALD_OK && !made)
        rc = keyfile_compare(facts, keys, path, err);
    if (rc == ALD_INVALID)
        ald_log(ALD_ERROR, "keys.refused", "path=%s text=%s", ALD_Q(path), ALD_Q(err->text));
    if (rc != ALD_OK)
        return rc;
    for (unsigned i = 0; i < ALD_KEYS_MAX; i++) {
        uint64_t fact = i < keys->count ? keyfile_fact(keys->record[i]) : 0;
        same = same && facts[i] == fact;
    }
    if (same)
        return ALD_OK;
    vault_begin(vault);
    for (unsigned i = 0; i < ALD_KEYS_MAX; i++)
        vault_meta_set(vault, KEYFILE_FACTS[i],
                       i < keys->count ? (int64_t)keyfile_fact(keys->record[i]) : 0);
    rc = vault_commit(vault);
    return rc == ALD_OK ? rc : ald_err_set(err, rc, "tracker.db: cannot be written");
}

static enum ald_rc keyfile_facts(ald_store_t *store, uint64_t facts[ALD_KEYS_MAX])
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(store, "SELECT value FROM facts WHERE name = ?1", &stmt);
    for (unsigned i = 0; rc == ALD_OK && i < ALD_KEYS_MAX; i++) {
        ald_stmt_bind_str(stmt, 1, KEYFILE_FACTS[i]);
        rc = ald_stmt_step(stmt);
        facts[i] = rc == ALD_OK ? (uint64_t)ald_stmt_i64(stmt, 0) : 0;
        ald_stmt_reset(stmt);
        rc = rc == ALD_NOTFOUND ? ALD_OK : rc;
    }
    return rc;
}

enum ald_rc keyfile_verify(const char *path, ald_store_t *store, struct ald_keys *keys,
                           struct ald_err *err)
{
    uint64_t facts[ALD_KEYS_MAX];
    int fd = ald_regular_open(path, O_RDONLY);
    if (fd < 0)
        return ald_err_set(err, ALD_IO, "%s: cannot be opened: %s", path,
                           ald_regular_why(path, errno));
    enum ald_rc rc = keyfile_read(fd, path, keys, err);
    close(fd);
    if (rc == ALD_OK && (rc = keyfile_facts(store, facts)) != ALD_OK)
        return ald_err_set(err, rc, "tracker.db: what it knows of keys can't be read");
    return rc == ALD_OK ? keyfile_compare(facts, keys, path, err) : rc;
}
