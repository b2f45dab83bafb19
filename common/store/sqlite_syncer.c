#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/store/sqlite.h"

struct store_syncer {
    sqlite3_file *log;
    int fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turn;
    uint64_t written; /* changed by the writer alone */
    bool stopped;
    _Atomic uint64_t settled; /* read without the lock, as is the code */
    _Atomic int code;
};

static void syncer_tell(struct store_syncer *self)
{
    const uint64_t one = 1;
    ssize_t n = write(self->fd, &one, sizeof one);
    (void)n; /* a counter that is full is readable all the same */
}

static void *syncer_run(void *arg)
{
    struct store_syncer *self = arg;
    (void)pthread_mutex_lock(&self->lock);
    while (self->code == SQLITE_OK) {
        while (self->written == self->settled && !self->stopped)
            (void)pthread_cond_wait(&self->turn, &self->lock);
        if (self->written == self->settled)
            break;
        uint64_t written = self->written;
        (void)pthread_mutex_unlock(&self->lock);
        int code = store_log_sync(self->log);
        (void)pthread_mutex_lock(&self->lock);
        if (code == SQLITE_OK)
            self->settled = written;
        self->code = code;
        (void)pthread_cond_broadcast(&self->turn);
        syncer_tell(self);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return NULL;
}

struct store_syncer *store_syncer_new(sqlite3 *db)
{
    sqlite3_file *log = store_log_file(db);
    if (log == NULL)
        return NULL;
    struct store_syncer *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    self->log = log;
    self->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ALD_ASSERT(self->fd >= 0);
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_cond_init(&self->turn, NULL);
    int failed = pthread_create(&self->thread, NULL, syncer_run, self);
    ALD_ASSERT(failed == 0);
    return self;
}

void store_syncer_destroy(struct store_syncer **self_p)
{
    struct store_syncer *self = *self_p;
    if (self == NULL)
        return;
    *self_p = NULL;
    (void)pthread_mutex_lock(&self->lock);
    self->stopped = true; /* after what is owed */
    (void)pthread_cond_broadcast(&self->turn);
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_join(self->thread, NULL);
    (void)pthread_cond_destroy(&self->turn);
    (void)pthread_mutex_destroy(&self->lock);
    close(self->fd);
    free(self);
}

void store_syncer_wait(struct store_syncer *self)
{
    if (self->written == self->settled)
        return;
    (void)pthread_mutex_lock(&self->lock);
    while (self->written != self->settled && self->code == SQLITE_OK)
        (void)pthread_cond_wait(&self->turn, &self->lock);
    (void)pthread_mutex_unlock(&self->lock);
}

void store_syncer_begin(struct store_syncer *self)
{
    store_syncer_wait(self);
    store_log_beside(self->log, true);
}

void store_syncer_end(struct store_syncer *self, bool committed)
{
    bool owed = committed && store_log_owed(self->log);
    store_log_beside(self->log, false);
    if (!owed)
        return;
    (void)pthread_mutex_lock(&self->lock);
    self->written++;
    (void)pthread_cond_broadcast(&self->turn);
    (void)pthread_mutex_unlock(&self->lock);
}

uint64_t store_syncer_written(const struct store_syncer *self)
{
    return self->written;
}

uint64_t store_syncer_settled(struct store_syncer *self)
{
    return self->settled;
}

int store_syncer_code(struct store_syncer *self)
{
    return self->code;
}

int store_syncer_fd(const struct store_syncer *self)
{
    return self->fd;
}

void store_syncer_heard(struct store_syncer *self)
{
    uint64_t count = 0;
    ssize_t n = read(self->fd, &count, sizeof count);
    (void)n; /* nothing was told since */
}
