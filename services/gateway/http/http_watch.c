#include "services/gateway/http/http_watch.h"

#include <signal.h>
#include <stddef.h>

enum { WATCH_SIGNAL = SIGUSR1 };

static void watch_no_action(int number)
{
    (void)number;
}

void http_crew_init(struct http_crew *self, int64_t head_ms, void (*on_stir)(void *stirred),
                    void *stirred)
{
    struct sigaction action = {.sa_handler = watch_no_action}; /* without SA_RESTART */
    (void)sigaction(WATCH_SIGNAL, &action, NULL);
    (void)pthread_mutex_init(&self->lock, NULL);
    self->first = NULL;
    self->head_ms = head_ms;
    self->crowd_ms = 0;
    self->on_stir = on_stir;
    self->stirred = stirred;
    atomic_init(&self->asleep, false);
}

void http_crew_free(struct http_crew *self)
{
    (void)pthread_mutex_destroy(&self->lock);
}

void http_crew_join(struct http_crew *self, struct http_watch *watch)
{
    watch->thread = pthread_self();
    watch->crew = self;
    (void)pthread_mutex_init(&watch->lock, NULL);
    (void)pthread_mutex_lock(&self->lock);
    watch->next = self->first;
    self->first = watch;
    (void)pthread_mutex_unlock(&self->lock);
}

void http_crew_leave(struct http_crew *self, struct http_watch *watch)
{
    (void)pthread_mutex_lock(&self->lock);
    struct http_watch **at = &self->first;
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    (void)pthread_mutex_unlock(&self->lock);
    (void)pthread_mutex_destroy(&watch->lock);
}

/* How long clients may let us wait: less when no thread is free. */
struct watch_patience {
    int64_t head_ms;
    int64_t body_ms;
};

static struct watch_patience crew_patience(struct http_crew *self, int64_t now_ms)
{
    struct watch_patience patience = {self->head_ms, INT64_MAX};
    size_t waiting = 0;
    size_t busy = 0;
    for (struct http_watch *w = self->first; w; w = w->next) {
        (void)pthread_mutex_lock(&w->lock);
        enum http_watch_state state = w->state;
        (void)pthread_mutex_unlock(&w->lock);
        if (state == HTTP_WATCH_FREE) {
            self->crowd_ms = 0;
            return patience;
        }
        if (state == HTTP_WATCH_BUSY)
            busy++;
        else
            waiting++;
    }
    if (self->crowd_ms == 0)
        self->crowd_ms = now_ms;
    bool stood = now_ms - self->crowd_ms >= HTTP_CROWD_LONG_MS;
    int64_t most_ms = stood ? HTTP_CROWD_LONG_HEAD_MS : HTTP_CROWD_HEAD_MS;
    if (patience.head_ms > most_ms)
        patience.head_ms = most_ms;
    if (waiting >= busy) /* a body that has begun is given up only if clients are the cause */
        patience.body_ms = HTTP_CROWD_BODY_MS;
    return patience;
}

/* True: the thread waits for its client. */
static bool watch_tick(struct http_watch *self, const struct watch_patience *patience,
                       int64_t now_ms)
{
    (void)pthread_mutex_lock(&self->lock);
    bool waits = self->state == HTTP_WATCH_HEAD || self->state == HTTP_WATCH_BODY;
    if (waits) {
        int64_t most_ms = self->state == HTTP_WATCH_HEAD ? patience->head_ms : patience->body_ms;
        if (self->since_ms == 0)
            self->since_ms = now_ms;
        if (now_ms >= self->until_ms || now_ms - self->since_ms >= most_ms) {
            self->cut = true;
            (void)pthread_kill(self->thread, WATCH_SIGNAL);
        }
    }
    (void)pthread_mutex_unlock(&self->lock);
    return waits;
}

/* Marked as asleep before the threads are looked at: one that begins to wait meanwhile is seen
 * here, or sees the mark. */
bool http_crew_tick(struct http_crew *self, int64_t now_ms)
{
    atomic_store(&self->asleep, true);
    (void)pthread_mutex_lock(&self->lock);
    struct watch_patience patience = crew_patience(self, now_ms);
    bool waits = self->crowd_ms != 0;
    for (struct http_watch *w = self->first; w; w = w->next)
        waits = watch_tick(w, &patience, now_ms) || waits;
    (void)pthread_mutex_unlock(&self->lock);
    if (waits)
        atomic_store(&self->asleep, false);
    return waits;
}

bool http_crew_idle(struct http_crew *self)
{
    bool idle = true;
    (void)pthread_mutex_lock(&self->lock);
    for (struct http_watch *w = self->first; w && idle; w = w->next) {
        (void)pthread_mutex_lock(&w->lock);
        idle = w->state == HTTP_WATCH_FREE;
        (void)pthread_mutex_unlock(&w->lock);
    }
    (void)pthread_mutex_unlock(&self->lock);
    return idle;
}

static void watch_set(struct http_watch *self, enum http_watch_state state, int64_t until_ms)
{
    (void)pthread_mutex_lock(&self->lock);
    self->state = state;
    self->since_ms = 0;
    self->until_ms = until_ms;
    self->cut = false;
    (void)pthread_mutex_unlock(&self->lock);
}

void http_watch_free(struct http_watch *self)
{
    watch_set(self, HTTP_WATCH_FREE, 0);
}

static void watch_wait(struct http_watch *self, enum http_watch_state state, int64_t until_ms)
{
    struct http_crew *crew = self->crew;
    watch_set(self, state, until_ms);
    if (atomic_load(&crew->asleep) && atomic_exchange(&crew->asleep, false) && crew->on_stir)
        crew->on_stir(crew->stirred);
}

void http_watch_head(struct http_watch *self)
{
    watch_wait(self, HTTP_WATCH_HEAD, INT64_MAX);
}

void http_watch_body(struct http_watch *self, int64_t until_ms)
{
    watch_wait(self, HTTP_WATCH_BODY, until_ms);
}

bool http_watch_done(struct http_watch *self)
{
    (void)pthread_mutex_lock(&self->lock);
    bool cut = self->cut;
    self->state = HTTP_WATCH_BUSY;
    (void)pthread_mutex_unlock(&self->lock);
    return cut;
}
