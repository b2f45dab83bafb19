#include "services/dlq/copy.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/store/disk.h"

enum { COPY_PAGES = 256, COPY_STEP_MS = 1 };

static const char COPY_GONE[] =
    "The letters were not held for this backup until now: make it again.";

struct copy {
    zloop_t *loop;
    shelf_t *shelf;
    ald_backup_t *backup;    /* NULL: none under way */
    char hold[ALD_ULID_MAX]; /* the name of the backup that this copy or hold is of */
    struct ald_err ended;    /* how its copy ended */
    int64_t hold_ms;         /* once the copy is there */
    int64_t held_until_ms;   /* monotonic; 0: no hold */
    int timer;
    copy_done_fn *done;
    void *context;
};

copy_t *copy_new(zloop_t *loop, shelf_t *shelf)
{
    copy_t *self = zmalloc(sizeof *self);
    self->loop = loop;
    self->shelf = shelf;
    self->timer = -1;
    return self;
}

void copy_destroy(copy_t **self_p)
{
    copy_t *self = *self_p;
    if (self == NULL)
        return;
    copy_cancel(self);
    free(self);
    *self_p = NULL;
}

static void copy_end(copy_t *self, enum ald_rc rc)
{
    struct ald_err err = {0};
    enum ald_rc finished = ald_store_backup_finish(&self->backup, &err);
    if (rc == ALD_OK)
        rc = finished;
    if (rc != ALD_OK && err.text[0] == '\0')
        (void)ald_err_set(&err, rc, "the copy failed: %s", ald_rc_name(rc));
    if (self->timer >= 0)
        (void)zloop_timer_end(self->loop, self->timer);
    self->timer = -1;
    if (rc == ALD_OK && self->hold_ms > 0)
        self->held_until_ms = ald_clock_now().mono_ms + self->hold_ms;
    self->ended = err;
    self->ended.rc = rc;
    self->done(self->context, rc, &err);
}

static int copy_step(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    copy_t *self = arg;
    if (self->backup == NULL) /* cancelled by another timer of this turn of the loop */
        return 0;
    enum ald_rc rc = ald_store_backup_step(self->backup, COPY_PAGES);
    if (rc != ALD_AGAIN)
        copy_end(self, rc);
    return 0;
}

bool copy_holds(const copy_t *self)
{
    return self->held_until_ms != 0 && ald_clock_now().mono_ms < self->held_until_ms;
}

static bool copy_is_of(const copy_t *self, const char *hold)
{
    return hold[0] != '\0' && strcmp(self->hold, hold) == 0;
}

enum ald_rc copy_renew(copy_t *self, const struct msg_backup *ask, struct ald_err *err)
{
    if (!copy_is_of(self, ask->hold))
        return ald_err_set(err, ALD_NOTFOUND, COPY_GONE);
    if (self->backup != NULL)
        return ald_err_set(err, ALD_AGAIN, "The copy is being made.");
    if (self->ended.rc != ALD_OK) {
        *err = self->ended;
        return err->rc;
    }
    if (!copy_holds(self))
        return ald_err_set(err, ALD_NOTFOUND, COPY_GONE);
    self->held_until_ms = ald_clock_now().mono_ms + ask->hold_ms;
    return ALD_OK;
}

enum ald_rc copy_release(copy_t *self, const char *hold, struct ald_err *err)
{
    if (!copy_is_of(self, hold))
        return ald_err_set(err, ALD_NOTFOUND, COPY_GONE);
    copy_cancel(self);
    bool held = copy_holds(self);
    if (!held && self->held_until_ms != 0)
        ald_log(ALD_WARN, "copy.released", "text=\"the hold had run out\"");
    self->held_until_ms = 0;
    self->hold[0] = '\0';
    return held ? ALD_OK : ald_err_set(err, ALD_NOTFOUND, COPY_GONE);
}

enum ald_rc copy_begin(copy_t *self, const struct msg_backup *ask, copy_done_fn *done,
                       void *context, struct ald_err *err)
{
    const char *dir = ask->dir;
    char path[ALD_STORE_PATH_MAX];
    if (self->backup != NULL || copy_holds(self))
        return ald_err_set(err, ALD_AGAIN, "A copy is under way: wait for its end.");
    if (!shelf_ready(self->shelf))
        return ald_err_set(err, ALD_IO, "The store of the letters has failed.");
    if (ask->hold_ms > 0 && ask->hold[0] == '\0')
        return ald_err_set(err, ALD_INVALID, "A hold needs a name.");
    int length = snprintf(path, sizeof path, "%s/letters.db", dir);
    if (dir[0] != '/' || length < 0 || (size_t)length >= sizeof path)
        return ald_err_set(err, ALD_INVALID, "The folder must be an absolute path that fits.");
    enum ald_rc rc = ald_disk_folder(dir, err);
    if (rc == ALD_OK)
        rc = ald_store_backup_begin(shelf_store(self->shelf), path, &self->backup, err);
    if (rc != ALD_OK)
        return rc;
    memcpy(self->hold, ask->hold, sizeof self->hold);
    self->hold_ms = ask->hold_ms;
    self->held_until_ms = 0;
    self->done = done;
    self->context = context;
    self->timer = zloop_timer(self->loop, COPY_STEP_MS, 0, copy_step, self);
    return ALD_OK;
}

void copy_cancel(copy_t *self)
{
    if (self->backup != NULL)
        copy_end(self, ALD_CLOSED);
}
