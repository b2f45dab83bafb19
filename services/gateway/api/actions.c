#include "services/gateway/api/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/regular.h"
#include "common/config/extract.h"
#include "proto/msg_limits.h"

enum {
    ACTIONS_FILES = 2,
    ACTIONS_PATH_MAX = 4096,
    ACTIONS_LINE_MAX = 16 * 1024 /* what is asked may be all escapes */
};

struct actions {
    pthread_mutex_t lock;
    char path[ACTIONS_FILES][ACTIONS_PATH_MAX];
    unsigned current; /* the file that is written */
};

actions_t *actions_new(const char *folder)
{
    actions_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    struct timespec newest = {0};
    for (unsigned i = 0; i < ACTIONS_FILES; i++) {
        struct stat facts;
        (void)snprintf(self->path[i], sizeof self->path[i], "%s/actions-%c.log", folder, 'a' + i);
        if (stat(self->path[i], &facts) != 0)
            continue;
        bool newer = facts.st_mtim.tv_sec != newest.tv_sec ? facts.st_mtim.tv_sec > newest.tv_sec
                                                           : facts.st_mtim.tv_nsec > newest.tv_nsec;
        if (newer) {
            newest = facts.st_mtim;
            self->current = i;
        }
    }
    return self;
}

void actions_destroy(actions_t **self_p)
{
    actions_t *self = *self_p;
    if (!self)
        return;
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
    *self_p = NULL;
}

/* ---- writing ---- */

/* Each line begins with the end of the one before, so that half a line spoils no other. */
static void actions_line(struct ald_buf *line, const struct action *action)
{
    char id[ALD_ULID_SIZE];
    struct ald_span asked = action->asked;
    if (asked.len > ACTIONS_ASKED_MAX)
        asked.len = ACTIONS_ASKED_MAX;
    ald_ulid_new(id);
    ald_buf_put_byte(line, '\n');
    struct ald_json_out out = ald_json_out_begin(line);
    ald_json_out_object(&out, NULL);
    ald_json_out_text(&out, "id", id);
    ald_json_out_int(&out, "at_ms", action->at_ms);
    ald_json_out_span(&out, "by", action->by);
    ald_json_out_text(&out, "what", action->what);
    ald_json_out_text(&out, "of", action->of);
    ald_json_out_span(&out, "asked", asked);
    ald_json_out_text(&out, "peer", action->peer);
    ald_json_out_int(&out, "status", action->status);
    ald_json_out_close_object(&out);
}

/* The file to append to: the other one, emptied, when this one is full. */
static int actions_open(actions_t *self)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_DSYNC;
    struct stat facts;
    int fd = ald_regular_open(self->path[self->current], flags);
    if (fd < 0 || fstat(fd, &facts) != 0 || facts.st_size < ACTIONS_FILE_MAX)
        return fd;
    unsigned other = (self->current + 1) % ACTIONS_FILES;
    int next = ald_regular_open(self->path[other], flags | O_TRUNC);
    if (next < 0)
        return fd; /* rather a file that is too long than a command that is not in it */
    self->current = other;
    (void)close(fd);
    return next;
}

enum ald_rc actions_add(actions_t *self, const struct action *action)
{
    struct ald_buf line;
    ald_buf_init(&line, ACTIONS_LINE_MAX);
    actions_line(&line, action);
    ALD_ASSERT(ald_buf_ok(&line));
    (void)pthread_mutex_lock(&self->lock);
    int fd = actions_open(self);
    bool ok = fd >= 0 && write(fd, line.data, line.len) == (ssize_t)line.len;
    int error = errno;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    (void)pthread_mutex_unlock(&self->lock);
    ald_buf_free(&line);
    errno = error;
    return ok ? ALD_OK : ALD_IO;
}

/* ---- reading ---- */

struct actions_page {
    struct ald_json_out *out;
    const char *before;
    uint64_t left;
    char last[ALD_ULID_SIZE]; /* that was put */
    bool more;
};

static void actions_take(struct actions_page *page, struct ald_span line)
{
    struct ald_json value;
    struct ald_buf id;
    ald_buf_init(&id, ALD_ULID_SIZE - 1);
    if (ald_json_scan(line, &value, NULL) == ALD_OK &&
        ald_json_text(ald_json_find(value, "/id"), &id) == ALD_OK && ald_buf_ok(&id) &&
        (page->before[0] == '\0' || strcmp(ald_buf_str(&id), page->before) < 0)) {
        page->more = page->left == 0;
        if (!page->more) {
            ald_json_out_raw(page->out, NULL, value.raw);
            (void)snprintf(page->last, sizeof page->last, "%s", ald_buf_str(&id));
            page->left--;
        }
    }
    ald_buf_free(&id);
}

/* Its lines from the last one on. */
static void actions_lines(struct actions_page *page, const struct ald_buf *file)
{
    size_t end = file->len;
    while (end > 0 && !page->more) {
        size_t begin = end;
        while (begin > 0 && file->data[begin - 1] != '\n')
            begin--;
        actions_take(page, ald_span_of(file->data + begin, end - begin));
        end = begin > 0 ? begin - 1 : 0;
    }
}

static bool actions_read(const char *path, struct ald_buf *file)
{
    uint8_t chunk[16 * 1024];
    ssize_t n = 0;
    int fd = ald_regular_open(path, O_RDONLY);
    ald_buf_reset(file);
    if (fd < 0)
        return errno == ENOENT;
    while ((n = read(fd, chunk, sizeof chunk)) > 0)
        ald_buf_put(file, chunk, (size_t)n);
    (void)close(fd);
    return n == 0 && ald_buf_ok(file);
}

enum ald_rc actions_put(actions_t *self, struct ald_json_out *out, uint64_t limit,
                        const char *before)
{
    struct actions_page page = {.out = out, .before = before, .left = limit};
    struct ald_buf file;
    bool ok = true;
    ald_buf_init(&file, 2 * ACTIONS_FILE_MAX);
    ald_json_out_array(out, "actions");
    (void)pthread_mutex_lock(&self->lock);
    for (unsigned i = 0; i < ACTIONS_FILES && !page.more; i++) {
        ok &= actions_read(self->path[(self->current + i) % ACTIONS_FILES], &file);
        actions_lines(&page, &file);
    }
    (void)pthread_mutex_unlock(&self->lock);
    ald_json_out_close_array(out);
    ald_json_out_text(out, "cursor", page.more ? page.last : "");
    ald_buf_free(&file);
    return ok ? ALD_OK : ALD_IO;
}
