/* gateway.h - the daemon: the door for callbacks, the API, and what lies between them and the bus.
 *
 * The functions are those of struct ald_service_ops; self is a gateway_t *, NULL at first.
 * Threads: the loop's. The listeners have theirs, see door.h and api.h.
 */
#ifndef ALD_GATEWAY_GATEWAY_H
#define ALD_GATEWAY_GATEWAY_H

#include "common/net/service.h"

typedef struct gateway gateway_t;

enum ald_rc gateway_start(void *self, ald_service_t *service, struct ald_err *err);
void gateway_ready(void *self, char *out, size_t cap);
void gateway_reload(void *self, ald_profiles_t *fresh);
void gateway_drain(void *self);
bool gateway_drained(void *self);
int gateway_stop(void *self);
bool gateway_healthy(void *self, char *out, size_t cap);
void gateway_measure(void *self);

#endif
