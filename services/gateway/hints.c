#include "services/gateway/hints.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/metrics.h"
#include "common/base/text.h"
#include "proto/words.h"

struct hint {
    char provider[ALD_PROVIDER_MAX];
    uint64_t task; /* 0: an empty place */
    unsigned attempt;
};

struct hints {
    struct hint under_way[HINTS_UNDER_WAY];
    int64_t pause_until_ms;

    pthread_mutex_t lock; /* of the rest */
    struct hint ring[HINTS_MAX];
    size_t first;
    size_t count;
};

#define HINTS_METRIC(what)                                                                         \
    {                                                                                              \
        .kind = ALD_COUNTER, .name = "aldaba_gateway_hints_total",                                 \
        .help = "Tasks whose callback was turned away, remembered for the tracker.",               \
        .label = {"result"}, .value = {                                                            \
            what                                                                                   \
        }                                                                                          \
    }

static struct ald_metric hints_kept = HINTS_METRIC("remembered");
static struct ald_metric hints_said = HINTS_METRIC("told");
static struct ald_metric hints_lost = HINTS_METRIC("forgotten");

hints_t *hints_new(void)
{
    hints_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    ald_metric_register(&hints_kept);
    ald_metric_register(&hints_said);
    ald_metric_register(&hints_lost);
    return self;
}

void hints_destroy(hints_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    free(*self_p);
    *self_p = NULL;
}

static struct hint *hints_at(hints_t *self, size_t i)
{
    return &self->ring[(self->first + i) % HINTS_MAX];
}

static bool hints_has(hints_t *self, const struct hint *hint)
{
    for (size_t i = 0; i < self->count; i++)
        if (hints_at(self, i)->task == hint->task &&
            strcmp(hints_at(self, i)->provider, hint->provider) == 0)
            return true;
    return false;
}

/* True: it is one more. */
static bool hints_put(hints_t *self, const struct hint *hint)
{
    (void)pthread_mutex_lock(&self->lock);
    bool fresh = !hints_has(self, hint);
    if (fresh && self->count == HINTS_MAX) {
        self->first = (self->first + 1) % HINTS_MAX;
        self->count--;
        ald_metric_add(&hints_lost, 1);
    }
    if (fresh)
        *hints_at(self, self->count++) = *hint;
    (void)pthread_mutex_unlock(&self->lock);
    return fresh;
}

void hints_add(hints_t *self, const char *provider, uint64_t task, unsigned attempt)
{
    struct hint hint = {.task = task, .attempt = attempt};
    ald_text_cut(hint.provider, sizeof hint.provider, ald_span_str(provider));
    if (task != 0 && hints_put(self, &hint))
        ald_metric_add(&hints_kept, 1);
}

size_t hints_count(hints_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    size_t count = self->count;
    (void)pthread_mutex_unlock(&self->lock);
    return count;
}

static struct hint *hints_place(hints_t *self)
{
    for (size_t i = 0; i < HINTS_UNDER_WAY; i++)
        if (self->under_way[i].task == 0)
            return &self->under_way[i];
    return NULL;
}

bool hints_due(hints_t *self, int64_t now_mono_ms)
{
    return now_mono_ms >= self->pause_until_ms && hints_place(self) && hints_count(self) > 0;
}

bool hints_take(hints_t *self, uint64_t num, int64_t now_wall_ms, struct msg_callback *out,
                void **tag)
{
    struct hint *hint = hints_place(self);
    if (!hint)
        return false;
    (void)pthread_mutex_lock(&self->lock);
    if (self->count > 0) {
        *hint = *hints_at(self, 0);
        self->first = (self->first + 1) % HINTS_MAX;
        self->count--;
    }
    (void)pthread_mutex_unlock(&self->lock);
    if (hint->task == 0)
        return false;
    *out = (struct msg_callback){.num = num,
                                 .task = hint->task,
                                 .attempt = hint->attempt,
                                 .method = "GET",
                                 .fault = "unstored",
                                 .detail = "a callback of this task was turned away",
                                 .received_at_ms = now_wall_ms};
    memcpy(out->provider, hint->provider, sizeof out->provider);
    ald_text_cut(out->proof, sizeof out->proof, ald_span_str(ald_proof_name(ALD_PROOF_TOKEN)));
    *tag = hint;
    return true;
}

bool hints_owns(const hints_t *self, const void *tag)
{
    for (size_t i = 0; i < HINTS_UNDER_WAY; i++)
        if (tag == &self->under_way[i])
            return true;
    return false;
}

void hints_told(hints_t *self, void *tag)
{
    struct hint *hint = tag;
    ALD_ASSERT(hints_owns(self, tag));
    *hint = (struct hint){0};
    ald_metric_add(&hints_said, 1);
}

void hints_untold(hints_t *self, void *tag, int64_t now_mono_ms)
{
    struct hint *hint = tag;
    ALD_ASSERT(hints_owns(self, tag));
    (void)hints_put(self, hint);
    *hint = (struct hint){0};
    self->pause_until_ms = now_mono_ms + HINTS_PAUSE_MS;
}
