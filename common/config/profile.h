/* profile.h - what aldaba knows about one provider account, and how it reads that provider's words.
 *
 * A profile is loaded from the settings (`providers:`) and is then read-only. Judging is pure: a
 * message in, a verdict out; no clock, no socket. A profile has rules of its own in YAML (ruled.h),
 * perhaps from a profile that it extends, or names the family in.php/res.php/pingback, whose rules
 * are compiled in (family_inphp.c). Unknown is never terminal: what no rule recognises keeps the
 * task alive.
 *
 * Threads: a loaded profile may be read by any thread.
 */
#ifndef ALD_CONFIG_PROFILE_H
#define ALD_CONFIG_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "common/config/auth.h"
#include "common/config/budget.h"
#include "common/config/facts.h"
#include "common/config/yaml.h"

enum { ALD_CIDR_MAX = 16 };

enum ald_trust {
    ALD_TRUST_HINT,  /* a callback only makes us poll */
    ALD_TRUST_ID,    /* believe whoever knows the provider's id: private networks only */
    ALD_TRUST_TOKEN, /* believe who knows the task's callback URL */
    ALD_TRUST_AUTH   /* believe what is signed */
};

struct ald_cidr {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned prefix;   /* bits of the 128 */
};

struct ald_schedule {
    int64_t first_after_ms; /* without callbacks */
    int64_t every_ms;
    unsigned backoff_percent; /* 100 = none: each wait is this share of the one before */
    int64_t max_every_ms;
    unsigned jitter_percent;
    unsigned max_requests; /* then the task waits for its callback until give_up */
    bool asked_when_told;  /* the provider's own wait goes before `every`, also a shorter one */
    int64_t give_up_after_ms;
};

/* When a callback is late, where that is learned from callbacks. */
struct ald_stale {
    bool learned;
    int64_t floor_ms; /* the first poll of a task is not sooner ... */
    int64_t ceiling_ms;
};

/* How several tasks are asked for in one poll. */
struct ald_batch {
    unsigned max; /* tasks a poll; below 2: each alone */
};

struct ald_ruled;

enum { ALD_VOLATILE_MAX = 8, ALD_VOLATILE_LEN = 129 };

struct ald_profile {
    char name[33];
    char family[17];  /* inphp; "" = it has rules of its own */
    char dialect[17]; /* of the family: 2captcha, captchaai */

    char poll_url[ALD_URL_MAX]; /* "" = there is nothing to poll */
    bool poll_url_told;         /* it is ${poll_url}: the provider says it of each task */
    bool id_may_be_url;         /* ... and perhaps as the id itself */
    bool poll_post;
    char key[257]; /* the account's secret; "" while not resolved */
    int64_t poll_timeout_ms;
    uint64_t poll_max_bytes;
    struct ald_schedule schedule;
    struct ald_batch batch;
    int64_t result_ttl_ms; /* the provider forgets answers after this; 0 = not known */

    enum ald_trust trust;
    ald_auth_t *auth;         /* of the set of profiles; NULL: none is asked for */
    unsigned source_ip_count; /* 0 = from anywhere */
    struct ald_cidr source_ips[ALD_CIDR_MAX];
    uint64_t max_body;
    int64_t stale_after_ms; /* callback this late: poll; where learned: until it is */
    struct ald_stale stale;
    int64_t parked_for_ms;       /* a callback of an unknown id waits this long for its task */
    int64_t provider_retries_ms; /* an ended, purged task answers `duplicate` this long */
    char plus;                   /* 's' space, 'l' literal, 'a' auto */
    bool late_results_kept;      /* an answer after our own verdict stays a letter */
    unsigned volatile_count;     /* members of a result that do not tell one from another */
    char volatile_at[ALD_VOLATILE_MAX][ALD_VOLATILE_LEN]; /* JSON pointers */
    char verification_path[65];
    char verification_content[257];
    unsigned quota_count; /* unproven arrivals kept */
    uint64_t quota_bytes;

    struct ald_budgets budgets;
    struct ald_ruled *ruled; /* of the set of profiles: rules and requests (ruled.h); NULL: see
                              * family */
};

/* Judge a message at a stage. scratch is reset and holds what had to be decoded; the verdict's
 * result is borrowed from it or from facts until either changes. scratch's maximum should be at
 * least the message's length; what does not fit is judged unknown. Never fails: the worst is
 * ALD_THEN_UNKNOWN. */
void ald_profile_judge(const struct ald_profile *profile, enum ald_stage stage,
                       const struct ald_facts *facts, struct ald_buf *scratch,
                       struct ald_verdict *out);

/* Would a callback of this be judged to have an id? The door asks of each that nobody vouches for,
 * and nothing else of a verdict. scratch as above. */
bool ald_profile_names_task(const struct ald_profile *profile, const struct ald_facts *facts,
                            struct ald_buf *scratch);

/* Write the poll request of a task: url and, for POST, a form body (else empty).
 * ALD_OK; ALD_MISSING: the profile has no poll or no key; ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc ald_profile_poll_request(const struct ald_profile *profile,
                                                   const char *provider_id, struct ald_buf *url,
                                                   struct ald_buf *body);

/* True if the profile takes callbacks from this address (text); always true without source_ips. */
bool ald_profile_peer_ok(const struct ald_profile *profile, const char *peer);

/* The same result? Texts: outer white space off, ' ' = '+' when plus is auto. JSON: parsed, keys
 * sorted, numbers by lexeme, without what is volatile. Writes SHA-256 of (state word, normal form)
 * as 64 hex digits. */
void ald_profile_digest(const struct ald_profile *profile, const char *state,
                        struct ald_span result, bool result_json, char out[65]);

/* A set of profiles, by name. */
typedef struct ald_profiles ald_profiles_t;

/* Bits: which secrets a program needs. */
enum ald_secrets { ALD_SECRETS_POLL = 1, ALD_SECRETS_AUTH = 2, ALD_SECRETS_SINKS = 4 };

/* Load the `providers` mapping of the settings. Every error is appended to errors (file:line:column
 * each). secrets says whose are resolved (enum ald_secrets): who need not have them is not asked.
 * ALD_OK: *out is the caller's. ALD_INVALID: errors say why, *out is NULL. */
ALD_NODISCARD enum ald_rc ald_profiles_load(const struct ald_node *providers, unsigned secrets,
                                            struct ald_errors *errors, ald_profiles_t **out);

/* The same; what is allowed and yet looks wrong is appended to warnings, which may be NULL. */
ALD_NODISCARD enum ald_rc ald_profiles_load_warned(const struct ald_node *providers,
                                                   unsigned secrets, struct ald_errors *errors,
                                                   struct ald_errors *warnings,
                                                   ald_profiles_t **out);

/* Everything that a profile lets in must pass the bus: append an error for each profile whose
 * max_body or poll max_bytes is larger than max_item_bytes. providers says where; it may be NULL.
 * True: all fit. */
ALD_NODISCARD bool ald_profiles_fit(const ald_profiles_t *self, const struct ald_node *providers,
                                    uint64_t max_item_bytes, struct ald_errors *errors);

/* Write `providers:` as YAML, each with its defaults, secrets masked. What ald_profiles_load would
 * refuse is left at its default. */
void ald_profiles_print(const struct ald_node *providers, struct ald_buf *out);

/* Give back one reference; with the last one the set is gone. Any thread. */
void ald_profiles_destroy(ald_profiles_t **self_p);
/* One more reference, for whoever reads it while another set may take its place. Any thread. */
ald_profiles_t *ald_profiles_share(ald_profiles_t *self);

/* A set was read anew: profiles that only old has stay good in fresh, as they are there, so that
 * what was begun with them can be ended. fresh must have no other reference yet. */
void ald_profiles_keep(ald_profiles_t *fresh, ald_profiles_t *old);

/* NULL when there is none. Borrowed until destroy. */
const struct ald_profile *ald_profiles_find(const ald_profiles_t *self, const char *name);
/* All, and behind them those that were kept of older sets. */
size_t ald_profiles_count(const ald_profiles_t *self);
const struct ald_profile *ald_profiles_at(const ald_profiles_t *self, size_t index);
/* Is it one that was kept? Then nothing new is begun with it. */
bool ald_profiles_gone(const ald_profiles_t *self, const struct ald_profile *profile);

#endif
