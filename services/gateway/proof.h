/* proof.h - what a callback proves about its sender, and what follows if it is not enough.
 *
 * Looked at once, here, on the raw bytes: what is found travels with the message, and no replay
 * looks again. Decides, does nothing. Threads: pure; any.
 */
#ifndef ALD_GATEWAY_PROOF_H
#define ALD_GATEWAY_PROOF_H

#include "common/config/profile.h"
#include "proto/words.h"
#include "services/gateway/http.h"

/* What the door knows of a message. */
struct proof_facts {
    const struct ald_profile *profile; /* NULL: there is none any more */
    bool genuine;                      /* it came to a task's own URL */
    bool peer_ok;                      /* from an address that the profile takes */
    const struct ald_span *body;       /* NULL: it did not come, so no signature can be checked */
    int64_t now_ms;
};

enum proof_then {
    PROOF_STORE, /* with the proof */
    PROOF_SPOIL, /* store it as not authenticated */
    PROOF_REJECT /* store nothing */
};

struct proof {
    enum ald_proof proof;
    enum proof_then then;
    bool looked; /* the profile asks for something, and result says what was found */
    struct ald_auth_result result;
};

void proof_find(const struct proof_facts *facts, const struct http_request *request,
                struct proof *out);

#endif
