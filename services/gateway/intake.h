/* intake.h - what to do with a request on the public listener. Decides, does nothing.
 *
 * Two steps, because the task is to be known before a body is read: intake_route looks at method
 * and path, intake_message at the whole request. Facts and rules in, a decision out: no socket, no
 * clock, no file. What a message means is judged by the tracker alone; here it is only proved who
 * may have sent it, and seen whether it can be read.
 *
 * Threads: pure; any.
 */
#ifndef ALD_GATEWAY_INTAKE_H
#define ALD_GATEWAY_INTAKE_H

#include "common/config/profile.h"
#include "proto/messages.h"
#include "proto/token.h"
#include "services/gateway/http/http.h"
#include "services/gateway/peer.h"
#include "services/gateway/proof.h"

struct intake_rules {
    const ald_profiles_t *profiles;
    const char *default_provider; /* what /callback means; "" = nothing */
    const struct peer_rules *peers;
    uint64_t max_body; /* where no profile says otherwise */
    uint64_t max_item; /* of the bus, above all */
    const struct keychain_found
        *found; /* of the route's provider; NULL: its keys are not fetched */
};

enum intake_next {
    INTAKE_NOT_FOUND, /* no such route, or a forged token: nothing is stored */
    INTAKE_NOBODY,    /* the same, of a provider that is not in the settings */
    INTAKE_METHOD,    /* 405 */
    INTAKE_NO_KEYS,   /* tokens can't be verified yet: 503 */
    INTAKE_FILE,      /* answer with content */
    INTAKE_CALLBACK   /* read the body, at most max_body */
};

struct intake_route {
    enum intake_next next;
    const struct ald_profile *profile; /* NULL: a genuine token of a profile that is gone */
    char provider[ALD_PROVIDER_MAX];
    bool genuine; /* by token */
    uint64_t task;
    unsigned attempt;
    char trace[ALD_TRACE_MAX]; /* behind the token: the traceparent of who submitted the task */
    size_t max_body;
    char path[ALD_PROVIDER_MAX + 16]; /* without the token */
    const char *content;              /* of the file */
};

/* keys NULL: none are known. */
void intake_route(const struct intake_rules *rules, const struct ald_keys *keys,
                  const struct http_request *request, struct intake_route *out);

/* Memory that a message is made in; reset by intake_message. */
struct intake_work {
    struct ald_buf headers;
    struct ald_buf scratch;
    struct proof proof; /* what was found */
};

enum intake_fate {
    INTAKE_STORE,
    INTAKE_REFUSE, /* can't be read and nobody vouches for it: 400, or without a body 413 */
    INTAKE_REJECT, /* it does not prove its sender, and the profile wants none of such */
    INTAKE_LATER   /* nobody can say yet who sent it */
};

void intake_work_init(struct intake_work *work);
void intake_work_free(struct intake_work *work);

/* Make the message of a request on a route that is a callback. body NULL: it is over max_body.
 * INTAKE_STORE: out is to be stored, borrowing from request, body and work. */
ALD_NODISCARD enum intake_fate intake_message(const struct intake_rules *rules,
                                              const struct intake_route *route,
                                              const struct http_request *request,
                                              const struct ald_span *body, int64_t received_at_ms,
                                              struct intake_work *work, struct msg_callback *out);

#endif
