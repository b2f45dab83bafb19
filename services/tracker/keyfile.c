#include "services/tracker/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/store/disk.h"

static enum ald_rc keyfile_write(const char *path, const struct ald_keys *keys, struct ald_err *err)
{
    char fresh[PATH_MAX];
    int n = snprintf(fresh, sizeof fresh, "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof fresh)
        return ald_err_set(err, ALD_TOOBIG, "%s: the path is too long", path);
    size_t size = keys->count * ALD_KEY_RECORD;
    int fd = open(fresh, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, keys->record, size) == (ssize_t)size && fsync(fd) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && rename(fresh, path) == 0 && ald_disk_sync_folder_of(path) == ALD_OK;
    if (!ok)
        return ald_err_set(err, ALD_IO, "%s: cannot write the callback key: %s", path,
                           strerror(errno));
    ald_log(ALD_INFO, "keys.made",
            "path=%s text=\"keep a copy: without it no callback URL that "
            "is out in the world is genuine any more\"",
            ALD_Q(path));
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
    if (ald_keys_load(keys, ald_span_of(bytes, (size_t)got)) != ALD_OK)
        return ald_err_set(err, ALD_INVALID,
                           "%s: holds no callback keys (records of %d bytes, "
                           "made by `aldaba keys new callback`)",
                           path, ALD_KEY_RECORD);
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
    return keyfile_write(path, keys, err);
}

enum ald_rc keyfile_load(const struct ald_settings *settings, struct ald_keys *keys,
                         struct ald_err *err)
{
    char path[PATH_MAX];
    bool named = settings->security.callback_keys[0] != '\0';
    int n = named ? snprintf(path, sizeof path, "%s", settings->security.callback_keys)
                  : snprintf(path, sizeof path, "%s/callback.key", settings->store.data);
    if (n < 0 || (size_t)n >= sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "the path of the callback keys is too long");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && !named)
        return keyfile_make(settings, path, keys, err);
    if (fd < 0)
        return ald_err_set(err, ALD_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum ald_rc rc = keyfile_read(fd, path, keys, err);
    close(fd);
    return rc;
}
