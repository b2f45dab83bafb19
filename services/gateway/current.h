/* current.h - the set of profiles that is in force, for threads that read it while the loop puts
 * another one in its place.
 *
 * A reader takes it for one request and gives it back: until then it is not freed, and all of the
 * request is decided by one set. Threads: any.
 */
#ifndef ALD_GATEWAY_CURRENT_H
#define ALD_GATEWAY_CURRENT_H

#include "common/config/profile.h"

typedef struct current current_t;

current_t *current_new(ald_profiles_t *profiles);
void current_destroy(current_t **self_p);

/* A reference of the caller's own: ald_profiles_destroy it. */
ald_profiles_t *current_take(current_t *self);
/* From now on this one is taken. */
void current_set(current_t *self, ald_profiles_t *profiles);

#endif
