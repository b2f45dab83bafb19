/* webhook.h - Standard Webhooks 1.0.0, symmetric: how a message is signed, by whoever sends it
 * (sinks) and for whoever checks it (auth.h).
 *
 * Signed are its id, the time in seconds and the body, with dots between them, by HMAC-SHA256; an
 * id must not have a dot in it. Pure; any thread.
 */
#ifndef ALD_CONFIG_WEBHOOK_H
#define ALD_CONFIG_WEBHOOK_H

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

enum {
    ALD_SECRET_LIST_MAX = 4,
    ALD_SIGNING_SECRET_MAX = 257 /* of a secret as it is written, with its NUL */
};

/* Old and new ones: a secret changes while both are in use. */
struct ald_secret_list {
    size_t count;
    struct {
        uint8_t data[ALD_SIGNING_SECRET_MAX];
        size_t len;
    } at[ALD_SECRET_LIST_MAX];
};

/* Add one that is written `whsec_` and base64, or base64 alone. ALD_MALFORMED: it is not; ALD_FULL:
 * there are as many as can be. */
ALD_NODISCARD enum ald_rc ald_webhook_secret(struct ald_secret_list *self, const char *text);

/* The signature by one of them, 32 bytes. stamp: the time as it is written. */
void ald_webhook_mac(const struct ald_secret_list *self, size_t index, struct ald_span id,
                     struct ald_span stamp, struct ald_span body, uint8_t out[32]);

/* Append the three headers of a message, "name: value\n" each, signed by every secret. */
void ald_webhook_headers(const struct ald_secret_list *self, const char *id, int64_t now_s,
                         struct ald_span body, struct ald_buf *out);

#endif
