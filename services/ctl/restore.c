/* `restore`: put a backup into store.data, or only look at it. All that could be found wrong is
 * looked for before anything is changed; swap.h says how the change is made. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/config/file.h"
#include "common/store/disk.h"
#include "services/ctl/manifest.h"
#include "services/ctl/progress.h"
#include "services/ctl/stores.h"
#include "services/ctl/swap.h"

enum { RESTORE_MANIFEST_MAX = 64 << 10, RESTORE_LOCKS = 2, RESTORE_TEXT_MAX = 1024 };

struct restore {
    struct ctl *ctl;
    struct ald_settings settings;
    char place[ALD_PATH_MAX]; /* store.data, without a slash at its end */
    const char *dir;
    struct manifest manifest;
    struct findings findings;
    struct progress progress;
    uint64_t done, total;
};

/* ---- the backup ---- */

static bool restore_manifest(struct restore *self)
{
    char path[ALD_PATH_MAX + 16];
    struct ald_buf text;
    struct ald_err err = {0};
    ald_buf_init(&text, RESTORE_MANIFEST_MAX);
    (void)snprintf(path, sizeof path, "%s/MANIFEST", self->dir);
    enum ald_rc rc = ald_file_read(path, &text);
    if (rc != ALD_OK)
        findings_problem(&self->findings,
                         "%.200s can't be read: this is no backup, or one that was not finished",
                         path);
    else if ((rc = manifest_parse(&self->manifest, ald_buf_span(&text), &err)) != ALD_OK)
        findings_problem(&self->findings, "%s", err.text);
    ald_buf_free(&text);
    return rc == ALD_OK;
}

static void restore_sums(struct restore *self)
{
    for (size_t i = 0; i < MANIFEST_FILES; i++) {
        struct ald_err err = {0};
        if (manifest_verify(&self->manifest, self->dir, i, &err) != ALD_OK)
            findings_problem(&self->findings, "%s", err.text);
        self->total += self->manifest.file[i].bytes;
    }
}

/* CTL_OK: all that there is to find is in findings. */
static int restore_look(struct restore *self)
{
    const struct stores_look look = {.dir = self->dir};
    if (!restore_manifest(self))
        return CTL_OK;
    restore_sums(self);
    if (self->findings.problem_count > 0)
        return CTL_OK; /* what is another file is not looked into */
    return stores_look(&look, &self->findings);
}

/* ---- what it would do ---- */

/* Does security.callback_keys name a file with other bytes than the backup's key? */
static bool restore_other_key(const struct restore *self)
{
    char path[ALD_PATH_MAX + 16];
    struct ald_buf named;
    struct ald_buf kept;
    ald_buf_init(&named, RESTORE_MANIFEST_MAX);
    ald_buf_init(&kept, RESTORE_MANIFEST_MAX);
    (void)snprintf(path, sizeof path, "%s/callback.key", self->dir);
    bool other = ald_file_read(self->settings.security.callback_keys, &named) != ALD_OK ||
                 ald_file_read(path, &kept) != ALD_OK ||
                 !ald_span_eq(ald_buf_span(&named), ald_buf_span(&kept));
    ald_buf_free(&named);
    ald_buf_free(&kept);
    return other;
}

static const char *const RESTORE_STATES[] = {
    [SWAP_ABSENT] = "is not there, and is made",
    [SWAP_EMPTY] = "is empty",
    [SWAP_FULL] = "has something in it, which is kept beside it as %s.before-TIME",
    [SWAP_NO_FOLDER] = "is no folder that can be read",
};

static void restore_tell_keys(struct restore *self)
{
    const char *keys = self->settings.security.callback_keys;
    if (keys[0] != '\0' && restore_other_key(self))
        ctl_say("Then put the backup's callback.key where security.callback_keys says, %s, which "
                "has another: else no callback URL of before is good.",
                CTL_SAFE(keys));
}

static void restore_plan(struct restore *self, enum swap_state state)
{
    char line[2 * RESTORE_TEXT_MAX];
    char about[RESTORE_TEXT_MAX + 2];
    struct ctl *ctl = self->ctl;
    const char *form = RESTORE_STATES[state];
    if (ctl_json(ctl) || args_has(ctl->args, ARG_QUIET))
        return;
    (void)snprintf(line, sizeof line, "%s, %s", self->dir,
                   self->manifest.made[0] ? self->manifest.made : "made nobody knows when");
    ctl_line(ctl, "backup", line, TONE_PLAIN);
    const char *hole = strstr(form, "%s");
    if (hole != NULL)
        (void)snprintf(about, sizeof about, "%.*s%s%s", (int)(hole - form), form, self->place,
                       hole + 2);
    else
        (void)snprintf(about, sizeof about, "%s", form);
    (void)snprintf(line, sizeof line, "%s %s", self->place, about);
    ctl_line(ctl, "store.data", line, TONE_PLAIN);
    ctl_line(ctl, "the feed", "goes on in a new lane; old positions are told that there is a gap",
             TONE_PLAIN);
}

/* ---- doing it ---- */

/* Nobody may be at work in the folder, nor begin while it changes places. */
static int restore_lock(const struct restore *self, int locks[RESTORE_LOCKS])
{
    static const char *const files[RESTORE_LOCKS] = {"tracker.db.lock", "letters.db.lock"};
    char path[ALD_PATH_MAX + 32];
    struct ald_err err = {0};
    for (size_t i = 0; i < RESTORE_LOCKS; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", self->place, files[i]);
        if (ald_disk_lock(path, &locks[i], &err) == ALD_OK)
            continue;
        ctl_say("%s Stop all daemons, then try again.", CTL_SAFE(err.text));
        return CTL_UNREACHABLE;
    }
    return CTL_OK;
}

/* Is there anything of ours in the folder? Else store.data may name the wrong one. */
static bool restore_ours(const char *place)
{
    static const char *const names[] = {"tracker.db", "letters.db", "callback.key", "spool"};
    char path[ALD_PATH_MAX + 32];
    for (size_t i = 0; i < ALD_COUNT(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", place, names[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int restore_may(struct restore *self, enum swap_state state)
{
    char owner[ALD_PATH_MAX + 64];
    char question[ALD_PATH_MAX + 128];
    stores_owner(&self->settings, owner, sizeof owner);
    if (owner[0] != '\0') {
        ctl_say("Nothing was changed: %s. Stop the tracker, the dlq, the gateways and the pollers, "
                "then try again.",
                CTL_SAFE(owner));
        return CTL_UNREACHABLE;
    }
    if (state == SWAP_NO_FOLDER) {
        ctl_say("%s is no folder that can be read (%s): name another as store.data, or run this as "
                "its user.",
                CTL_SAFE(self->place), strerror(errno));
        return CTL_UNREACHABLE;
    }
    if (state == SWAP_FULL && !restore_ours(self->place)) {
        ctl_say(
            "%s is not empty, and nothing in it is of aldaba: is store.data right? Empty it, or "
            "name another.",
            CTL_SAFE(self->place));
        return CTL_FAILED;
    }
    (void)snprintf(question, sizeof question, "%.300s is not empty. Put the backup in its place?",
                   CTL_SAFE(self->place));
    if (state == SWAP_FULL && !ctl_confirm(self->ctl, question))
        return CTL_FAILED;
    return CTL_OK;
}

static void restore_bytes(void *context, uint64_t bytes)
{
    struct restore *self = context;
    self->done += bytes;
    progress_tell(&self->progress, self->done, self->total);
}

/* Gateways with a name have spools with one. */
static int restore_is_spool(const struct dirent *entry)
{
    return strncmp(entry->d_name, "spool", 5) == 0;
}

/* Callbacks that were answered 200 and that nobody but the old folder has. */
static void restore_tell_spool(const struct swap *swap)
{
    char path[SWAP_PATH_MAX + NAME_MAX + 16];
    struct dirent **entries = NULL;
    int count =
        swap->before[0] != '\0' ? scandir(swap->before, &entries, restore_is_spool, alphasort) : 0;
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "%s/%s/spool.db", swap->before, entries[i]->d_name);
        if (access(path, F_OK) == 0)
            ctl_say("The old folder has a spool. When the daemons run, bring in what it holds: "
                    "aldaba spool drain %s/%s",
                    CTL_SAFE(swap->before), CTL_SAFE(entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
}

static int restore_swap(struct restore *self, struct swap *swap)
{
    struct ald_err err = {0};
    struct manifest copy = self->manifest;
    progress_begin(&self->progress, "copying", args_has(self->ctl->args, ARG_QUIET));
    enum ald_rc rc = swap_prepare(swap, self->place, self->dir, MANIFEST_NAMES, MANIFEST_FILES,
                                  restore_bytes, self, &err);
    progress_end(&self->progress);
    for (size_t i = 0; i < MANIFEST_FILES && rc == ALD_OK; i++)
        rc = manifest_verify(&copy, swap->beside, i, &err); /* the copies, too */
    if (rc == ALD_OK)
        rc = swap_change(swap, &err);
    if (swap->broken[0] != '\0')
        ctl_say("A restore was broken off here before; the folder that it left is now %s.",
                CTL_SAFE(swap->broken));
    if (rc == ALD_OK)
        return CTL_OK;
    ctl_say("The backup was not put back: %s. Run this again when that is mended.",
            CTL_SAFE(err.text));
    return CTL_UNREACHABLE;
}

static void restore_tell_done(struct restore *self, const struct swap *swap)
{
    struct ctl *ctl = self->ctl;
    if (ctl_json(ctl))
        ald_buf_put_str(&ctl->out, "{\"restored\":true}\n");
    else if (!args_has(ctl->args, ARG_QUIET))
        ctl_line(ctl, "restored", self->place, TONE_GOOD);
    ctl_flush(ctl);
    if (swap->before[0] != '\0')
        ctl_say("What was in it before is %s.", CTL_SAFE(swap->before));
    restore_tell_keys(self);
    restore_tell_spool(swap);
    if (!args_has(ctl->args, ARG_QUIET))
        ctl_say("Now start the daemons.");
}

static int restore_do(struct restore *self, enum swap_state state)
{
    struct swap swap = {0};
    int locks[RESTORE_LOCKS] = {-1, -1};
    int code = restore_may(self, state);
    if (code == CTL_OK && state == SWAP_FULL)
        code = restore_lock(self, locks);
    if (code == CTL_OK)
        code = restore_swap(self, &swap);
    for (size_t i = 0; i < RESTORE_LOCKS; i++)
        if (locks[i] >= 0)
            close(locks[i]);
    if (code == CTL_OK)
        restore_tell_done(self, &swap);
    return code;
}

static int restore_judge(struct restore *self, int code)
{
    bool only_look =
        args_has(self->ctl->args, ARG_VERIFY) || args_has(self->ctl->args, ARG_DRY_RUN);
    size_t problems = self->findings.problem_count;
    enum swap_state state = swap_look(self->place);
    stores_show(self->ctl, &self->findings);
    if (problems > 0 || code != CTL_OK) {
        ctl_flush(self->ctl);
        ctl_say("%s is not a backup to put back: take another one.", CTL_SAFE(self->dir));
        return code == CTL_OK ? CTL_FAILED : code;
    }
    restore_plan(self, state);
    ctl_flush(self->ctl);
    if (!only_look)
        return restore_do(self, state);
    restore_tell_keys(self);
    if (ctl_json(self->ctl))
        ald_buf_put_str(&self->ctl->out, "{\"whole\":true}\n");
    else if (!args_has(self->ctl->args, ARG_QUIET))
        tone_write(&self->ctl->out, "the backup is whole; nothing was changed\n", TONE_GOOD,
                   self->ctl->color);
    return CTL_OK;
}

/* store.data itself: behind a link it is the folder that the link leads to, on its own disk. */
static void restore_place(struct restore *self)
{
    char *real = realpath(self->settings.store.data, NULL);
    const char *place = real ? real : self->settings.store.data;
    ald_text_cut(self->place, sizeof self->place, ald_span_str(place));
    free(real);
    for (size_t len = strlen(self->place); len > 1 && self->place[len - 1] == '/';)
        self->place[--len] = '\0';
}

int restore_put(struct ctl *ctl, const struct args *args)
{
    struct restore self = {.ctl = ctl};
    int code = ctl_settings(ctl, &self.settings);
    if (code != CTL_OK)
        return code;
    char *dir = realpath(args->word[0], NULL);
    restore_place(&self);
    findings_init(&self.findings);
    if (dir == NULL) {
        ctl_say("%s can't be read: %s. Name the folder that 'aldaba backup' made.",
                CTL_SAFE(args->word[0]), strerror(errno));
        code = CTL_UNREACHABLE;
    } else {
        self.dir = dir;
        code = restore_judge(&self, restore_look(&self));
    }
    free(dir);
    findings_free(&self.findings);
    ald_settings_free(&self.settings);
    return code;
}
