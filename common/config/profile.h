/* profile.h - what aldaba knows about one provider account, and how it reads that provider's words.
 *
 * A profile is loaded from the settings (`providers:`) and is then read-only. Judging is pure: a
 * message in, a verdict out; no clock, no socket. The rules of the in.php/res.php/pingback family
 * are compiled in (family_inphp.c) behind this interface; profiles written in YAML will fill the
 * same one. Unknown is never terminal: what no rule recognises keeps the task alive.
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
#include "common/config/yaml.h"

enum { ALD_CIDR_MAX = 16, ALD_URL_MAX = 1024 };

enum ald_trust {
    ALD_TRUST_HINT,  /* a callback only makes us poll */
    ALD_TRUST_ID,    /* believe whoever knows the provider's id: private networks only */
    ALD_TRUST_TOKEN, /* believe who knows the task's callback URL */
    ALD_TRUST_AUTH   /* believe what is signed */
};

enum ald_then {
    ALD_THEN_UNKNOWN, /* nothing matched: never terminal */
    ALD_THEN_ACCEPTED,
    ALD_THEN_DONE,
    ALD_THEN_FAILED,
    ALD_THEN_LOST,
    ALD_THEN_PENDING,
    ALD_THEN_HINT, /* poll now, believe nothing */
    ALD_THEN_IGNORE,
    ALD_THEN_CODE /* see class */
};

enum ald_class {
    ALD_CLASS_NONE,
    ALD_CLASS_PENDING,
    ALD_CLASS_TRANSIENT,
    ALD_CLASS_CONFIG,
    ALD_CLASS_PERMANENT,
    ALD_CLASS_FAILED,
    ALD_CLASS_LOST,
    ALD_CLASS_UNKNOWN
};

enum ald_scope { ALD_SCOPE_TASK, ALD_SCOPE_ACCOUNT, ALD_SCOPE_IP, ALD_SCOPE_PROXY };

enum ald_stage { ALD_STAGE_SUBMIT, ALD_STAGE_POLL, ALD_STAGE_CALLBACK };

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
    int64_t give_up_after_ms;
};

struct ald_profile {
    char name[33];
    char family[17];  /* inphp */
    char dialect[17]; /* of the family: 2captcha, captchaai */

    char poll_url[ALD_URL_MAX]; /* "" = there is nothing to poll */
    bool poll_post;
    char key[257]; /* the account's secret; "" while not resolved */
    int64_t poll_timeout_ms;
    uint64_t poll_max_bytes;
    struct ald_schedule schedule;
    int64_t result_ttl_ms; /* the provider forgets answers after this; 0 = not known */

    enum ald_trust trust;
    ald_auth_t *auth;         /* of the set of profiles; NULL: none is asked for */
    unsigned source_ip_count; /* 0 = from anywhere */
    struct ald_cidr source_ips[ALD_CIDR_MAX];
    uint64_t max_body;
    int64_t stale_after_ms;      /* callback this late: poll */
    int64_t parked_for_ms;       /* a callback of an unknown id waits this long for its task */
    int64_t provider_retries_ms; /* an ended, purged task answers `duplicate` this long */
    char plus;                   /* 's' space, 'l' literal, 'a' auto */
    char verification_path[65];
    char verification_content[257];
    unsigned quota_count; /* unproven arrivals kept */
    uint64_t quota_bytes;

    struct ald_budgets budgets;
};

/* One message to judge. Absent parts are empty; http 0 means 200. Text is not decoded yet. */
struct ald_facts {
    unsigned http;
    struct ald_span query;
    struct ald_span content_type;
    struct ald_span body;
};

struct ald_verdict {
    enum ald_then then;
    enum ald_class cls; /* with ALD_THEN_CODE, else NONE */
    enum ald_scope scope;
    bool block;       /* the scope waits for wait_ms, not the task alone */
    int64_t wait_ms;  /* 0 = the schedule's */
    int64_t grace_ms; /* lost counts only this long after the task was made */
    char id[129];     /* "" = none */
    char code[257];   /* verbatim, cut to fit */
    char cost[33];
    char rule[33];          /* which rule fired, for people */
    struct ald_span result; /* into scratch or the facts */
    bool result_json;       /* raw JSON, not text */
};

/* Judge a message at a stage. scratch is reset and holds what had to be decoded; the verdict's
 * result is borrowed from it or from facts until either changes. scratch's maximum should be at
 * least the message's length; what does not fit is judged unknown. Never fails: the worst is
 * ALD_THEN_UNKNOWN. */
void ald_profile_judge(const struct ald_profile *profile, enum ald_stage stage,
                       const struct ald_facts *facts, struct ald_buf *scratch,
                       struct ald_verdict *out);

/* Write the poll request of a task: url and, for POST, a form body (else empty).
 * ALD_OK; ALD_MISSING: the profile has no poll or no key; ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc ald_profile_poll_request(const struct ald_profile *profile,
                                                   const char *provider_id, struct ald_buf *url,
                                                   struct ald_buf *body);

/* True if the profile takes callbacks from this address (text); always true without source_ips. */
bool ald_profile_peer_ok(const struct ald_profile *profile, const char *peer);

/* The same result? Texts: outer white space off, ' ' = '+' when plus is auto. JSON: parsed, keys
 * sorted, numbers by lexeme. Writes SHA-256 of (state word, normal form) as 64 hex digits. */
void ald_profile_digest(const struct ald_profile *profile, const char *state,
                        struct ald_span result, bool result_json, char out[65]);

const char *ald_then_name(enum ald_then then);
const char *ald_class_name(enum ald_class cls);
const char *ald_scope_name(enum ald_scope scope);
ALD_NODISCARD bool ald_then_find(const char *word, enum ald_then *out);
ALD_NODISCARD bool ald_class_find(const char *word, enum ald_class *out);
ALD_NODISCARD bool ald_scope_find(const char *word, enum ald_scope *out);

/* A set of profiles, by name. */
typedef struct ald_profiles ald_profiles_t;

/* Bits: which secrets a program needs. */
enum ald_secrets { ALD_SECRETS_POLL = 1, ALD_SECRETS_AUTH = 2 };

/* Load the `providers` mapping of the settings. Every error is appended to errors (file:line:column
 * each). secrets says whose are resolved (enum ald_secrets): who need not have them is not asked.
 * ALD_OK: *out is the caller's. ALD_INVALID: errors say why, *out is NULL. */
ALD_NODISCARD enum ald_rc ald_profiles_load(const struct ald_node *providers, unsigned secrets,
                                            struct ald_errors *errors, ald_profiles_t **out);

/* Everything that a profile lets in must pass the bus: append an error for each profile whose
 * max_body or poll max_bytes is larger than max_item_bytes. providers says where; it may be NULL.
 * True: all fit. */
ALD_NODISCARD bool ald_profiles_fit(const ald_profiles_t *self, const struct ald_node *providers,
                                    uint64_t max_item_bytes, struct ald_errors *errors);

/* Write `providers:` as YAML, each with its defaults, secrets masked. What ald_profiles_load would
 * refuse is left at its default. */
void ald_profiles_print(const struct ald_node *providers, struct ald_buf *out);
void ald_profiles_destroy(ald_profiles_t **self_p);

/* NULL when there is none. Borrowed until destroy. */
const struct ald_profile *ald_profiles_find(const ald_profiles_t *self, const char *name);
size_t ald_profiles_count(const ald_profiles_t *self);
const struct ald_profile *ald_profiles_at(const ald_profiles_t *self, size_t index);

#endif
