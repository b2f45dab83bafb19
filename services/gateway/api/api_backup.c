/* A backup: one folder with what a restore needs, made while everything runs.
 *
 * The dlq copies first and then holds (services/dlq/copy.h) until the tracker has copied, too. So a
 * letter that the tracker has handed over since lies in its copy's outbox still, and a letter that
 * the dlq's copy has open was not closed by a message that this copy does not know of. The hold is
 * a lease in the name of this backup, and begins anew as long as we wait; a daemon that was started
 * again does not know the name, and then the two copies may not fit: the backup fails. All is
 * written to DIR.partial, which gets its name when all of it is there and on disk.
 *
 * The marks beside the stores are not copied: without them tracker and dlq know that their numbers
 * may have been used, and take others. Spools are not copied either: a spool's numbers may never be
 * used twice. What lies in this gateway's is told.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/codec.h"
#include "common/base/digest.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/regular.h"
#include "common/base/text.h"
#include "common/store/disk.h"
#include "common/store/store.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/api/json_in.h"

enum {
    BACKUP_SLICE_MS = 1000, /* for one answer; then it is asked how the copy is */
    BACKUP_RELEASE_MS = 5000,
    BACKUP_PAUSE_MS = 200,
    BACKUP_LEASE_MS = 10000,  /* of the hold */
    BACKUP_AWAY_MS = 3000,    /* so long may a daemon have no connection */
    BACKUP_SILENT_MS = 60000, /* and be there and say nothing, as while it syncs a large copy */
    BACKUP_NAME_MAX = 24,     /* of a file in the folder, while it is made */
    BACKUP_PATH_MAX = ALD_META_MAX + 64,
    BACKUP_MANIFEST_MAX = 4096
};

/* In the order of the manifest; after them what a copy that failed may have left. */
static const char *const BACKUP_FILES[] = {"tracker.db", "letters.db", "callback.key"};
static const char *const BACKUP_RESTS[] = {"tracker.db.partial", "letters.db.partial",
                                           "callback.key.new", "MANIFEST"};

struct backup {
    char dir[ALD_META_MAX];
    char partial[ALD_META_MAX];
    char hold[ALD_ULID_MAX];
    int64_t held_ms; /* the dlq last said so; monotonic */
    struct ald_buf manifest;
    const char *asked; /* the channel; rc of the asking, and the answer */
    enum ald_rc rc;
    struct msg_answer head;
};

/* ---- the folder ---- */

static bool backup_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    int names = 0;
    while (readdir(dir) != NULL)
        names++;
    (void)closedir(dir);
    return names <= 2; /* itself and the one above */
}

/* False: a problem was answered. */
static bool backup_make_folder(struct api_call *call, struct backup *self)
{
    struct stat facts;
    char text[ALD_META_MAX + 160];
    if (lstat(self->dir, &facts) == 0 && !(S_ISDIR(facts.st_mode) && backup_empty(self->dir))) {
        api_problem(call, 409, "The folder is there already and is not empty: name a new one.");
        return false;
    }
    if (mkdir(self->partial, 0700) == 0)
        return true;
    int code = errno;
    (void)snprintf(text, sizeof text,
                   code == EEXIST ? "%s is there: another backup is under way, or one was broken "
                                    "off; remove it when none is."
                                  : "The folder %s can't be made: %s.",
                   self->partial, strerror(code));
    api_problem(call, code == EEXIST ? 409 : code == ENOSPC ? 503 : 400, text);
    return false;
}

static void backup_clean_file(const struct backup *self, const char *name)
{
    char path[BACKUP_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", self->partial, name);
    (void)unlink(path);
}

static void backup_clean(const struct backup *self)
{
    for (size_t i = 0; i < ALD_COUNT(BACKUP_FILES); i++)
        backup_clean_file(self, BACKUP_FILES[i]);
    for (size_t i = 0; i < ALD_COUNT(BACKUP_RESTS); i++)
        backup_clean_file(self, BACKUP_RESTS[i]);
    (void)rmdir(self->partial);
}

/* ---- the copies ---- */

static int64_t backup_now_ms(void)
{
    return ald_clock_now().mono_ms;
}

/* True: it said ok. Else why not is kept, to be answered when nothing is left of the attempt. */
static bool backup_ask(struct api_call *call, struct backup *self, const char *channel,
                       struct msg_backup *ask, int64_t wait_ms)
{
    zmsg_t *answer = NULL;
    self->asked = channel;
    self->head = (struct msg_answer){.rc = "io"};
    self->rc = caller_ask(call->api->caller, channel, &MSG_BACKUP, ask, wait_ms, &answer);
    if (self->rc == ALD_OK)
        (void)api_read(zmsg_first(answer), &MSG_ANSWER, &self->head);
    zmsg_destroy(&answer);
    return self->rc == ALD_OK && strcmp(self->head.rc, "ok") == 0;
}

static void backup_answer_why(struct api_call *call, const struct backup *self)
{
    bool late = strcmp(self->head.rc, "notfound") == 0; /* a hold that was none to the end */
    if (self->rc != ALD_OK)
        api_unasked(call, self->asked, self->rc);
    else
        api_refused(call, late ? "busy" : self->head.rc, self->head.detail);
}

/* Let a daemon give up what is in our name, after a failure. */
static void backup_let_go(struct api_call *call, const char *channel, const struct msg_backup *ask)
{
    zmsg_t *answer = NULL;
    struct msg_backup release = *ask;
    release.release = true;
    if (caller_ask(call->api->caller, channel, &MSG_BACKUP, &release, BACKUP_SLICE_MS, &answer) ==
        ALD_OK)
        zmsg_destroy(&answer);
}

/* Does what was said last end the waiting? quiet_ms: since the last answer. */
static bool backup_decided(const struct backup *self, int64_t quiet_ms)
{
    if (self->rc == ALD_OK)
        return strcmp(self->head.rc, "busy") != 0;
    if (self->rc == ALD_AGAIN)
        return quiet_ms >= BACKUP_AWAY_MS;
    if (self->rc == ALD_TIMEOUT || self->rc == ALD_FULL)
        return quiet_ms >= BACKUP_SILENT_MS;
    return true;
}

/* False: the dlq holds no more. */
static bool backup_renew(struct api_call *call, struct backup *self, const struct msg_backup *ask)
{
    struct msg_backup renew = *ask;
    renew.again = true;
    if (!backup_ask(call, self, ALD_CHANNEL_LETTERS, &renew, BACKUP_SLICE_MS))
        return !backup_decided(self, backup_now_ms() - self->held_ms);
    self->held_ms = backup_now_ms();
    return true;
}

/* One store: begin, and ask until it has ended. held: what the dlq holds meanwhile, or NULL. */
static bool backup_half(struct api_call *call, struct backup *self, const char *channel,
                        const struct msg_backup *held)
{
    struct msg_backup ask = {.hold_ms = held ? 0 : BACKUP_LEASE_MS};
    ald_text_cut(ask.dir, sizeof ask.dir, ald_span_str(self->partial));
    memcpy(ask.hold, self->hold, sizeof ask.hold);
    bool made = backup_ask(call, self, channel, &ask, BACKUP_SLICE_MS);
    if (self->rc != ALD_TIMEOUT)
        return made;
    int64_t heard_ms = backup_now_ms();
    const struct timespec pause = {.tv_nsec = BACKUP_PAUSE_MS * 1000000L};
    ask.again = true;
    do {
        if (held && !backup_renew(call, self, held))
            break;
        (void)nanosleep(&pause, NULL);
        made = backup_ask(call, self, channel, &ask, BACKUP_SLICE_MS);
        if (self->rc == ALD_OK)
            heard_ms = backup_now_ms();
    } while (!backup_decided(self, backup_now_ms() - heard_ms));
    if (!made) /* it may be at it still */
        backup_let_go(call, channel, &ask);
    return made;
}

static bool backup_copy(struct api_call *call, struct backup *self)
{
    struct msg_backup letters = {.hold_ms = BACKUP_LEASE_MS};
    ald_text_cut(letters.dir, sizeof letters.dir, ald_span_str(self->partial));
    ald_ulid_new(self->hold);
    memcpy(letters.hold, self->hold, sizeof letters.hold);
    if (!backup_half(call, self, ALD_CHANNEL_LETTERS, NULL))
        return false;
    self->held_ms = backup_now_ms();
    if (!backup_half(call, self, ALD_CHANNEL_QUERY, &letters)) {
        backup_let_go(call, ALD_CHANNEL_LETTERS, &letters);
        return false;
    }
    letters.release = true;
    /* Else the two do not fit. It can't be asked twice. */
    return backup_ask(call, self, ALD_CHANNEL_LETTERS, &letters, BACKUP_RELEASE_MS);
}

/* ---- the manifest: what `sha256sum -c` reads ---- */

static bool backup_note_file(struct backup *self, const char *name, struct ald_json_out *out)
{
    char path[BACKUP_PATH_MAX];
    char hex[65] = "";
    uint8_t sum[32];
    uint64_t bytes = 0;
    (void)snprintf(path, sizeof path, "%s/%s", self->partial, name);
    int fd = ald_regular_open(path, O_RDONLY);
    bool ok = fd >= 0 && ald_sha256_file(fd, &bytes, sum) &&
              ALD_FAILPOINT("backup.sync", fsync(fd), -1) == 0;
    if (fd >= 0)
        close(fd);
    if (!ok)
        return false;
    for (size_t i = 0; i < sizeof sum; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    ald_buf_printf(&self->manifest, "# %llu bytes\n%s  %s\n", (unsigned long long)bytes, hex, name);
    ald_json_out_object(out, NULL);
    ald_json_out_text(out, "name", name);
    ald_json_out_int(out, "bytes", (int64_t)bytes);
    ald_json_out_text(out, "sha256", hex);
    ald_json_out_close_object(out);
    return true;
}

static bool backup_write_manifest(const struct backup *self)
{
    char path[BACKUP_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/MANIFEST", self->partial);
    int fd = ald_regular_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (fd < 0)
        return false;
    const size_t len = self->manifest.len;
    bool ok = ALD_FAILPOINT_WRITE("manifest.write", write(fd, self->manifest.data, len),
                                  write(fd, self->manifest.data, len / 2)) == (ssize_t)len &&
              ALD_FAILPOINT("manifest.sync", fsync(fd), -1) == 0;
    return close(fd) == 0 && ok && ald_disk_sync_folder_of(path) == ALD_OK;
}

/* Everything under its name. files: the array of the answer. */
static bool backup_keep(struct backup *self, struct ald_json_out *out)
{
    char at[32];
    ald_clock_rfc3339(ald_clock_now().wall_ms, at);
    ald_buf_printf(&self->manifest,
                   "# aldaba backup, manifest 1; check it with: sha256sum -c MANIFEST\n"
                   "# made %s by aldaba %s\n",
                   at, ALDABA_VERSION);
    for (size_t i = 0; i < ALD_COUNT(BACKUP_FILES); i++)
        if (!backup_note_file(self, BACKUP_FILES[i], out))
            return false;
    return backup_write_manifest(self) &&
           ALD_FAILPOINT("backup.rename", rename(self->partial, self->dir), -1) == 0 &&
           ald_disk_sync_folder_of(self->dir) == ALD_OK;
}

static void backup_run(struct api_call *call, struct backup *self)
{
    if (!backup_make_folder(call, self))
        return;
    if (!backup_copy(call, self)) {
        backup_clean(self);
        backup_answer_why(call, self);
        return;
    }
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "dir", self->dir);
    ald_json_out_array(&out, "files");
    if (!backup_keep(self, &out)) {
        int code = errno;
        ald_log(ALD_ERROR, "backup.failed", "dir=%s text=%s", ALD_Q(self->dir),
                ALD_Q(strerror(code)));
        backup_clean(self);
        api_problem(call, 503,
                    code == ENOSPC
                        ? "The disk is full: there is no room for the manifest."
                        : "The copies can't be read again, or their folder can't be named.");
        return;
    }
    ald_json_out_close_array(&out);
    if (atomic_load(&call->api->spool_items) > 0)
        ald_json_out_text(&out, "note",
                          "Callbacks lie in the gateway's spool, which is not copied.");
    ald_json_out_close_object(&out);
    ald_log(ALD_INFO, "backup.made", "dir=%s", ALD_Q(self->dir));
    api_send(call, 200);
}

/* NULL: dir and partial are good. Else why not. */
static const char *backup_name(struct backup *self)
{
    for (size_t len = strlen(self->dir); len > 1 && self->dir[len - 1] == '/'; len--)
        self->dir[len - 1] = '\0';
    if (self->dir[0] != '/' || self->dir[1] == '\0')
        return "The member dir must be an absolute path.";
    const char *name = strrchr(self->dir, '/') + 1;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return "The member dir must end with the name of the new folder.";
    int n = snprintf(self->partial, sizeof self->partial, "%s.partial", self->dir);
    if (n < 0 || (size_t)n + BACKUP_NAME_MAX >= ALD_STORE_PATH_MAX)
        return "The member dir is too long a path.";
    return NULL;
}

void api_backup(struct api_call *call)
{
    struct backup self = {0};
    struct ald_err err = {0};
    const struct json_in_field fields[] = {{"dir", JSON_IN_TEXT, self.dir, sizeof self.dir}};
    if (!api_body(call))
        return;
    if (json_in_read(ald_buf_span(&call->worker->body), fields, ALD_COUNT(fields), &err) !=
        ALD_OK) {
        api_problem(call, 400, err.text);
        return;
    }
    const char *wrong = backup_name(&self);
    if (wrong) {
        api_problem(call, 400, wrong);
        return;
    }
    ald_buf_init(&self.manifest, BACKUP_MANIFEST_MAX);
    backup_run(call, &self);
    ald_buf_free(&self.manifest);
}
