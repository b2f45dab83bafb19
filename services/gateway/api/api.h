/* api.h - the private listener: what programs and people ask of aldaba over HTTP.
 *
 * JSON in, JSON out; errors are application/problem+json. With gateway.tokens or read_tokens set
 * every route but the probes and the page wants one as a bearer token; without, the listener must
 * be on loopback. Requests that change something are refused when a browser sends them for a
 * foreign page.
 *
 * Threads: the listener's. The atomics of struct api are set by the loop.
 */
#ifndef ALD_GATEWAY_API_H
#define ALD_GATEWAY_API_H

#include <stdatomic.h>

#include "common/config/settings.h"
#include "common/net/service.h"
#include "services/gateway/api/actions.h"
#include "services/gateway/caller.h"
#include "services/gateway/current.h"
#include "services/gateway/http/http.h"
#include "services/gateway/keyring.h"

struct api {
    const struct ald_settings *settings;
    const ald_service_t *service;
    caller_t *caller;
    keyring_t *keyring;
    actions_t *actions;
    current_t *current;                /* profiles; NULL: none are known */
    char base[ALD_ENDPOINT_MAX + 16];  /* of callback URLs, without a slash at the end */
    uint8_t tokens[ALD_TEXTS_MAX][32]; /* SHA-256 of each */
    size_t token_count;
    uint8_t read_tokens[ALD_TEXTS_MAX][32]; /* the same */
    size_t read_token_count;
    uint8_t facade_keys[ALD_TEXTS_MAX][32]; /* SHA-256 of each */
    size_t facade_key_count;
    char retry[48];     /* the header line Retry-After */
    atomic_int waiters; /* threads in long polls and streams */
    atomic_bool stopping;
    atomic_bool welcomed; /* by the tracker, and it is there */
    atomic_bool writable; /* the spool */
    _Atomic int64_t spool_items;
    _Atomic int64_t spool_oldest_ms;
    _Atomic int64_t spool_damaged;   /* moved aside, ever */
    _Atomic int64_t spool_oversized; /* the tracker takes none of that size */
};

/* Fill what follows from the settings. */
void api_init(struct api *self, const struct ald_settings *settings);

/* For struct http_options; self is a struct api. */
void *api_worker_new(void *self);
void api_worker_free(void *self, void *worker);
void api_handle(void *self, void *worker, http_exchange_t *exchange);

#endif
