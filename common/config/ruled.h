/* ruled.h - a profile's own rules, requests and codes, compiled: what stands behind
 * ald_profile_judge and ald_profile_request when the profile names no family.
 *
 * Compiling says all that is wrong at once and keeps nothing of a profile with an error. Threads: a
 * compiled one may be read by any thread.
 */
#ifndef ALD_CONFIG_RULED_H
#define ALD_CONFIG_RULED_H

#include "common/config/codes.h"
#include "common/config/request.h"
#include "common/config/rule.h"

/* What ids of the provider look like. */
struct ald_id_form {
    unsigned max_len;
    const regex_t *pattern; /* NULL: any */
    bool number_ok;         /* may be a JSON number */
    bool last_segment;      /* it comes as an address, and the last part of its path is it */
    bool keep_url;          /* ... and yet the whole address is kept, where it fits */
};

struct ald_ruled_stage {
    bool there;
    struct ald_rules rules;
    struct ald_request_form request;
};

enum { ALD_CALLBACK_HEADERS_MAX = 4, ALD_RESUBMITS_MAX = 10 };

enum ald_callback_in {
    ALD_CALLBACK_NOWHERE,
    ALD_CALLBACK_BODY,
    ALD_CALLBACK_QUERY,
    ALD_CALLBACK_HEADER
};

struct ald_ruled {
    ald_arena_t *arena;
    struct ald_secret_set secrets;
    struct ald_id_form id;
    struct ald_ruled_stage stage[ALD_STAGES]; /* by enum ald_stage */
    unsigned batch_max;                       /* tasks that one poll may ask for; below 2: one */
    struct ald_request_form batch; /* then: the poll with ${id} standing for all their ids */
    struct ald_codes codes;
    enum ald_body body; /* of callbacks */
    struct ald_value callback_id;
    unsigned header_count; /* that callbacks are judged by, and that must be kept for it */
    const char *header[ALD_CALLBACK_HEADERS_MAX];
    enum ald_callback_in callback_in; /* where a submission says our address */
    const char *callback_name;
    struct ald_rules not_taken; /* answers that say so, though no rule knows them */
    int64_t submit_within_ms;
    bool first_retry_after; /* the provider's Retry-After goes before the schedule */
    bool every_retry_after;
    bool resubmit;          /* what cannot be polled and is late: submit it again; else alert */
    unsigned max_resubmits; /* of a task in its life, for whatever cause */
};

/* Compile a whole profile. secrets (enum ald_secrets) says whose are resolved: those in requests,
 * or in a verification file; what callback.auth names is auth.h's. NULL: errors say why. The
 * caller's; ald_ruled_destroy it. */
struct ald_ruled *ald_ruled_load(const struct ald_node *profile, unsigned secrets,
                                 struct ald_errors *errors, struct ald_errors *warnings);
void ald_ruled_destroy(struct ald_ruled **self_p);

/* The value of a secret; "" when it is not resolved, or there is none of that name. */
const char *ald_ruled_secret(const struct ald_ruled *self, const char *name);

/* Contract of ald_profile_judge; *out and scratch come empty. */
void ald_ruled_judge(const struct ald_profile *profile, enum ald_stage stage,
                     const struct ald_facts *facts, struct ald_buf *scratch,
                     struct ald_verdict *out);

/* Contract of ald_profile_address_ok. */
bool ald_ruled_address_ok(const struct ald_ruled *self, enum ald_stage stage, const char *beside,
                          const char *url);

/* Contract of ald_profile_request. */
ALD_NODISCARD enum ald_rc ald_ruled_request(const struct ald_profile *profile,
                                            const struct ald_request_in *in,
                                            struct ald_request *out);

#endif
