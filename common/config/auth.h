/* auth.h - who sent a callback: what a profile's `callback.auth` asks for, and whether a message
 * has it.
 *
 * Compiled once at load, secrets and keys in memory; checking is pure: headers, raw bytes and the
 * time in, a word out. All that the block lists must hold. Secrets and signatures are compared in a
 * time that tells nothing of them. What a stranger can get wrong has a word each; what he sent is
 * never in it. The same signature may come twice: a provider's retry, which is answered alike.
 *
 * It does not fetch keys: those of a `jwks` address come with the facts, and until there are some,
 * here or in a file, a check ends in no_key.
 * Threads: a loaded one may be read by any thread.
 */
#ifndef ALD_CONFIG_AUTH_H
#define ALD_CONFIG_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/span.h"
#include "common/config/jwks.h"
#include "common/config/yaml.h"

/* What is done with a callback that fails. */
enum ald_on_fail {
    ALD_ON_FAIL_HINT,       /* stored without proof: its task is polled, it is not believed */
    ALD_ON_FAIL_QUARANTINE, /* stored as a letter `unauthenticated` */
    ALD_ON_FAIL_REJECT      /* answered as `ack.rejected` says, stored nowhere */
};

/* The first thing that did not hold, in the order of the checks. */
enum ald_auth_why {
    ALD_AUTH_OK,
    ALD_AUTH_URL,       /* url_token: it did not come to the task's own URL */
    ALD_AUTH_ADDRESS,   /* its sender is not in source_ips */
    ALD_AUTH_NO_KEY,    /* no secret or key is there to check with */
    ALD_AUTH_MISSING,   /* a header is not there, or empty */
    ALD_AUTH_REPEATED,  /* a header is there twice: which one was signed? */
    ALD_AUTH_MALFORMED, /* a header can't be read: odd hex, a wrong length, no number */
    ALD_AUTH_UNIT,      /* the signed time is in milliseconds where seconds are signed */
    ALD_AUTH_VERSION,   /* no signature of a known version */
    ALD_AUTH_STALE,     /* signed longer ago than the tolerance */
    ALD_AUTH_FUTURE,    /* signed further in the future than the tolerance */
    ALD_AUTH_MISMATCH,  /* read and compared: not from who knows the secret */
    ALD_AUTH_COUNT
};

struct ald_auth_header {
    const char *name;
    const char *value;
};

/* One message. */
struct ald_auth_facts {
    const struct ald_auth_header *headers;
    size_t header_count;
    struct ald_span body;           /* raw */
    const struct ald_jwks *fetched; /* from the address of ald_auth_jwks; NULL: none are there */
    int64_t now_s;
    bool url_token; /* it came to a genuine callback URL */
    bool address;   /* its sender's address is one of source_ips, or all may send */
};

struct ald_auth_result {
    enum ald_auth_why why;
    const char *scheme; /* which part of the block says so; "" when all holds */
};

typedef struct ald_auth ald_auth_t;

/* Read `callback.auth` and `callback.ack` of a profile; source_ips is the profile's own. Errors are
 * appended, all of them. resolve false: secrets and files are not read, and every check ends in
 * ALD_AUTH_NO_KEY. Never NULL; without a block it asks for nothing. */
ald_auth_t *ald_auth_load(const struct ald_node *profile, bool resolve, struct ald_errors *errors);
void ald_auth_destroy(ald_auth_t **self_p);

/* Write the block as YAML with its defaults, secrets masked: lines that continue a `callback.auth`
 * whose keys are indented by so many spaces. */
void ald_auth_print(const struct ald_node *profile, unsigned indent, struct ald_buf *out);

/* Is there a scheme that proves the sender, beside URL and address? */
bool ald_auth_asks(const ald_auth_t *self);
/* Does the profile itself give keys for every scheme? */
bool ald_auth_ready(const ald_auth_t *self);
/* Where public keys are fetched, and how long until they are again; "" = nowhere. NULL is allowed.
 */
const char *ald_auth_jwks(const ald_auth_t *self, int64_t *cache_ms);
/* Does a header of this name hold the secret itself? Then it is not to be kept. */
bool ald_auth_hides(const ald_auth_t *self, const char *header);
enum ald_on_fail ald_auth_on_fail(const ald_auth_t *self);
/* The status of the answer to what is rejected; *text becomes its body. */
unsigned ald_auth_rejected(const ald_auth_t *self, const char **text);

void ald_auth_check(const ald_auth_t *self, const struct ald_auth_facts *facts,
                    struct ald_auth_result *out);

/* A word of a metric's label and of a letter's cause. */
const char *ald_auth_why_name(enum ald_auth_why why);
/* The same as a sentence. */
const char *ald_auth_why_text(enum ald_auth_why why);

#endif
