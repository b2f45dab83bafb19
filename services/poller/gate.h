/* gate.h - how many requests may be under way to each host, and how many of them may still be
 * looking for its address: the resolver starts a thread for each name it does not know, and a
 * thousand polls may begin in the same millisecond.
 *
 * Pure: no sockets, clock or curl. Entries are the caller's; the gate links them. A host exists
 * here only while somebody is under way to it or waits, so there are never many. One thread.
 */
#ifndef ALD_POLLER_GATE_H
#define ALD_POLLER_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum { GATE_HOST_MAX = 262 }; /* a name of 253, a colon, a port, brackets, NUL */

typedef struct gate gate_t;
struct gate_host;

/* One request; zeroed before its first use, no field for the caller to touch. */
struct gate_entry {
    struct gate_host *host;  /* NULL: not in the gate */
    struct gate_entry *next; /* behind this one, while it waits */
    bool waiting;
    bool resolving;
};

struct gate_limits {
    size_t resolving; /* of one host, at least 1 */
    size_t under_way; /* of one host, at least 1 */
};

gate_t *gate_new(const struct gate_limits *limits);

/* No entry may be left in it. */
void gate_destroy(gate_t **self_p);

/* The part of a URL between :// and the path. ALD_INVALID: there is none, or it is too long. */
ALD_NODISCARD enum ald_rc gate_host_of(struct ald_span url, char out[GATE_HOST_MAX]);

/* Put an entry in the queue of its host. It waits until gate_next gives it. */
void gate_enter(gate_t *self, const char *host, struct gate_entry *entry);

/* The next entry that may begin: it is under way and resolving from now on. NULL: none. */
struct gate_entry *gate_next(gate_t *self);

/* The entry has its host's address. May be called again. */
void gate_resolved(struct gate_entry *entry);

/* The entry's host has no address: take one that waits for the same answer out of the gate.
 * NULL: none waits. */
struct gate_entry *gate_take_waiting(gate_t *self, const struct gate_entry *entry);

/* Take an entry out, waiting or under way; once it is out, nothing happens. */
void gate_leave(gate_t *self, struct gate_entry *entry);

#endif
