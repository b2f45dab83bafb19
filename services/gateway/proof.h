/* proof.h - what a callback proves about its sender, and what follows if it is not enough.
 *
 * Looked at once, here, on the raw bytes: what is found travels with the message, and no replay
 * looks again. Where keys are fetched, one that is missing is our lack and not the sender's fault:
 * what would be rejected or quarantined for it is to come again, when the keys have been fetched
 * anew. For ever for the sake of a rejection, of which nothing would be left; else for
 * KEYCHAIN_OVERDUE_MS. Decides, does nothing. Threads: pure; any.
 */
#ifndef ALD_GATEWAY_PROOF_H
#define ALD_GATEWAY_PROOF_H

#include "common/config/profile.h"
#include "proto/words.h"
#include "services/gateway/http/http.h"
#include "services/gateway/keychain.h"

/* What the door knows of a message. */
struct proof_facts {
    const struct ald_profile *profile; /* NULL: there is none any more */
    bool genuine;                      /* it came to a task's own URL */
    bool peer_ok;                      /* from an address that the profile takes */
    const struct ald_span *body;       /* NULL: it did not come, so no signature can be checked */
    int64_t now_ms;
    const struct keychain_found *found; /* NULL: the profile's keys are not fetched */
};

enum proof_then {
    PROOF_STORE,  /* with the proof */
    PROOF_SPOIL,  /* store it as not authenticated */
    PROOF_REJECT, /* store nothing */
    PROOF_LATER   /* nothing either: it can't be said yet, so let it be sent again */
};

struct proof {
    enum ald_proof proof;
    enum proof_then then;
    bool looked; /* the profile asks for something, and result says what was found */
    struct ald_auth_result result;
    bool missed; /* another key may be good for it: it is to be fetched */
};

void proof_find(const struct proof_facts *facts, const struct http_request *request,
                struct proof *out);

#endif
