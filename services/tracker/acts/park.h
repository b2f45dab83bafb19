/* park.h - callbacks of tasks that are not registered yet: found again by (provider, provider id),
 * and by age. The messages themselves are arrivals in the store. Pure; one owner.
 */
#ifndef ALD_TRACKER_PARK_H
#define ALD_TRACKER_PARK_H

#include <stddef.h>
#include <stdint.h>

typedef struct park park_t;

struct park_item {
    int64_t no;      /* of the arrival */
    int64_t made_ms; /* service time */
    int64_t until_ms;
    uint64_t bytes;
};

park_t *park_new(void);
void park_destroy(park_t **self_p);

/* ref: "provider/provider_id". */
void park_add(park_t *self, const char *ref, const struct park_item *item);
/* Take out the oldest one that waits for ref. 0 = none. */
int64_t park_take(park_t *self, const char *ref, struct park_item *out);
/* Take out one whose time is up. 0 = none. ref is filled (cap bytes). */
int64_t park_take_due(park_t *self, int64_t now_ms, char *ref, size_t cap);

/* When the time of the next one is up; INT64_MAX: there is none. */
int64_t park_next_ms(const park_t *self);

size_t park_count(const park_t *self);
/* How many, and how many bytes, of a provider. */
void park_share(const park_t *self, const char *provider, uint64_t *count, uint64_t *bytes);

#endif
