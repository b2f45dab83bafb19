/* msg_providers.h - on the channel query: how the accounts of providers stand, and a person's word
 * to stop asking one.
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_PROVIDERS_H
#define ALD_PROTO_MSG_PROVIDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/msg_limits.h"
#include "proto/wire.h"

/* All of them, or one. The answer has a `provider` map each, and its `budget` maps after it. */
struct msg_providers {
    uint64_t req;
    char provider[ALD_PROVIDER_MAX]; /* "" = all */
};

/* Pause or resume one; the answer has its map. */
struct msg_provider_ref {
    uint64_t req;
    char provider[ALD_PROVIDER_MAX];
    char by[ALD_WORD_MAX];
};

struct msg_provider_view {
    char provider[ALD_PROVIDER_MAX];
    bool paused;
    char breaker[ALD_WORD_MAX];  /* closed half-open open */
    int64_t open_until_at_ms;    /* while it is open */
    uint64_t troubles;           /* outcomes in a row that say so */
    int64_t blocked_until_at_ms; /* 0 = not blocked */
    char blocked_why[ALD_CODE_MAX];
    uint64_t open;
    uint64_t queued;
    uint64_t polling;
    int64_t oldest_due_at_ms; /* of those queued; 0 = none is */
    uint64_t late;            /* their callback is late, and there is nothing to poll */
    int64_t stale_after_ms;   /* the first poll of a task made now */
    bool stale_auto;          /* it is learned */
    uint64_t callbacks;       /* learned from */
    int64_t callback_p50_ms;  /* within which half of them came */
    int64_t callback_p95_ms;
    bool jwks;     /* its callbacks are proved by keys that are fetched */
    uint64_t keys; /* so many are in force */
    int64_t keys_fetched_at_ms;
    char keys_error[ALD_TEXT_MAX]; /* why the last try went wrong; "" = it did not */
};

/* One budget of the provider before it. */
struct msg_budget {
    char provider[ALD_PROVIDER_MAX];
    char name[ALD_PROVIDER_MAX];
    int64_t used; /* by polls that were due by themselves */
    int64_t limit;
    int64_t hinted; /* by those that a callback asked for */
    int64_t hinted_limit;
    int64_t per_ms; /* 0 = it is a formula */
    int64_t min_gap_ms;
};

extern const struct ald_schema MSG_PROVIDERS;       /* providers */
extern const struct ald_schema MSG_PROVIDER_PAUSE;  /* provider.pause */
extern const struct ald_schema MSG_PROVIDER_RESUME; /* provider.resume */
extern const struct ald_schema MSG_PROVIDER_VIEW;   /* provider */
extern const struct ald_schema MSG_BUDGET;          /* budget */

#endif
