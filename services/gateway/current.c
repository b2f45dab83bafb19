#include "services/gateway/current.h"

#include <pthread.h>
#include <stdlib.h>

struct current {
    pthread_mutex_t lock;
    ald_profiles_t *profiles; /* a reference */
};

current_t *current_new(ald_profiles_t *profiles)
{
    current_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    (void)pthread_mutex_init(&self->lock, NULL);
    self->profiles = ald_profiles_share(profiles);
    return self;
}

void current_destroy(current_t **self_p)
{
    if (!*self_p)
        return;
    ald_profiles_destroy(&(*self_p)->profiles);
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    free(*self_p);
    *self_p = NULL;
}

ald_profiles_t *current_take(current_t *self)
{
    (void)pthread_mutex_lock(&self->lock);
    ald_profiles_t *taken = ald_profiles_share(self->profiles);
    (void)pthread_mutex_unlock(&self->lock);
    return taken;
}

void current_set(current_t *self, ald_profiles_t *profiles)
{
    (void)pthread_mutex_lock(&self->lock);
    ald_profiles_t *old = self->profiles;
    self->profiles = ald_profiles_share(profiles);
    (void)pthread_mutex_unlock(&self->lock);
    ald_profiles_destroy(&old);
}
