/* poller.h - the poller as a daemon: leases in, HTTP polls out, outcomes back.
 *
 * It keeps nothing: killed, its leases run out and the tracker hands them to others. It is the only
 * process that holds the accounts' keys; they leave it in requests to their provider and nowhere
 * else. Threads: the loop's.
 */
#ifndef ALD_POLLER_POLLER_H
#define ALD_POLLER_POLLER_H

#include "common/net/service.h"

typedef struct poller poller_t;

/* The functions of ald_service_main; self is a poller_t ** that is NULL at first. */
enum ald_rc poller_start(void *self, ald_service_t *service, struct ald_err *err);
void poller_ready(void *self, char *out, size_t cap);
void poller_reload(void *self, ald_profiles_t *fresh);
void poller_drain(void *self);
bool poller_drained(void *self);
int poller_stop(void *self);
bool poller_healthy(void *self, char *out, size_t cap);
void poller_measure(void *self);

#endif
