#include "common/config/webhook.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/codec.h"
#include "common/base/digest.h"

enum ald_rc ald_webhook_secret(struct ald_secret_list *self, const char *text)
{
    static const char prefix[] = "whsec_";
    struct ald_span written = ald_span_str(text);
    if (self->count == ALD_SECRET_LIST_MAX)
        return ALD_FULL;
    if (ald_span_starts(written, prefix))
        written = ald_span_skip(written, sizeof prefix - 1);
    struct ald_buf bytes;
    ald_buf_init(&bytes, ALD_SIGNING_SECRET_MAX);
    enum ald_rc rc = ald_base64_decode(&bytes, written);
    if (rc != ALD_OK || bytes.len == 0) {
        rc = ALD_MALFORMED;
    } else {
        memcpy(self->at[self->count].data, bytes.data, bytes.len);
        self->at[self->count++].len = bytes.len;
    }
    if (bytes.data != NULL)
        explicit_bzero(bytes.data, bytes.len);
    ald_buf_free(&bytes);
    return rc;
}

void ald_webhook_mac(const struct ald_secret_list *self, size_t index, struct ald_span id,
                     struct ald_span stamp, struct ald_span body, uint8_t out[32])
{
    const struct ald_span dot = ald_span_str(".");
    const struct ald_span parts[] = {id, dot, stamp, dot, body};
    ALD_ASSERT(index < self->count);
    ald_hmac_sha256_of(ald_span_of(self->at[index].data, self->at[index].len), parts,
                       ALD_COUNT(parts), out);
}

void ald_webhook_headers(const struct ald_secret_list *self, const char *id, int64_t now_s,
                         struct ald_span body, struct ald_buf *out)
{
    char stamp[24];
    ALD_ASSERT(strchr(id, '.') == NULL);
    (void)snprintf(stamp, sizeof stamp, "%lld", (long long)now_s);
    ald_buf_printf(out, "webhook-id: %s\nwebhook-timestamp: %s\nwebhook-signature:", id, stamp);
    for (size_t i = 0; i < self->count; i++) {
        uint8_t mac[32];
        ald_webhook_mac(self, i, ald_span_str(id), ald_span_str(stamp), body, mac);
        ald_buf_put_str(out, " v1,");
        ald_base64_encode(out, ald_span_of(mac, sizeof mac));
    }
    ald_buf_put_byte(out, '\n');
}
