#include <pthread.h>
#include <stdlib.h>

#include "common/store/sqlite.h"

struct store_checkpointer {
    sqlite3 *db;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turn;
    bool asked;
    bool stopped;
    struct store_round round;
};

static void *checkpointer_run(void *arg)
{
    struct store_checkpointer *self = arg;
    (void)pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->asked && !self->stopped)
            (void)pthread_cond_wait(&self->turn, &self->lock);
        if (self->stopped)
            break;
        (void)pthread_mutex_unlock(&self->lock);
        int log = 0;
        int moved = 0;
        int code = ALD_FAILPOINT(
            "store.checkpoint_beside",
            sqlite3_wal_checkpoint_v2(self->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &moved),
            STORE_FAILED);
        (void)pthread_mutex_lock(&self->lock);
        self->round = (struct store_round){.code = code, .moved = moved > 0 ? moved : 0};
        self->asked = false;
        (void)pthread_cond_broadcast(&self->turn);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return NULL;
}

static int checkpointer_open(struct store_checkpointer *self, const char *path)
{
    int code = sqlite3_open_v2(path, &self->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                               store_pages_vfs());
    if (code == SQLITE_OK)
        (void)sqlite3_extended_result_codes(self->db, 1);
    /* The engine knows of the log only once it has read. */
    return code == SQLITE_OK ? sqlite3_exec(self->db,
                                            "PRAGMA synchronous=FULL; PRAGMA mmap_size=0;"
                                            "SELECT count(*) FROM sqlite_schema",
                                            NULL, NULL, NULL)
                             : code;
}

int store_checkpointer_new(const char *path, struct store_checkpointer **out)
{
    *out = NULL;
    struct store_checkpointer *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    int code = checkpointer_open(self, path);
    if (code != SQLITE_OK) {
        (void)sqlite3_close(self->db);
        free(self);
        return code;
    }
    (void)pthread_mutex_init(&self->lock, NULL);
    (void)pthread_cond_init(&self->turn, NULL);
    int failed = pthread_create(&self->thread, NULL, checkpointer_run, self);
    ALD_ASSERT(failed == 0);
    *out = self;
    return SQLITE_OK;
}

void store_checkpointer_destroy(struct store_checkpointer **self_p)
{
    struct store_checkpointer *self = *self_p;
    if (self == NULL)
        return;
    *self_p = NULL;
    (void)pthread_mutex_lock(&self->lock);
    self->stopped = true;
    (void)pthread_cond_broadcast(&self->turn);
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_join(self->thread, NULL);
    /* The log is the writer's to end, or the next start's. */
    (void)sqlite3_db_config(self->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int code = sqlite3_close(self->db);
    ALD_ASSERT(code == SQLITE_OK);
    (void)pthread_cond_destroy(&self->turn);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

void store_checkpointer_begin(struct store_checkpointer *self)
{
    (void)pthread_mutex_lock(&self->lock);
    self->asked = true;
    (void)pthread_cond_broadcast(&self->turn);
    (void)pthread_mutex_unlock(&self->lock);
}

bool store_checkpointer_idle(struct store_checkpointer *self, struct store_round *last)
{
    (void)pthread_mutex_lock(&self->lock);
    bool idle = !self->asked;
    *last = self->round;
    (void)pthread_mutex_unlock(&self->lock);
    return idle;
}

void store_checkpointer_wait(struct store_checkpointer *self, struct store_round *last)
{
    (void)pthread_mutex_lock(&self->lock);
    while (self->asked)
        (void)pthread_cond_wait(&self->turn, &self->lock);
    *last = self->round;
    (void)pthread_mutex_unlock(&self->lock);
}
