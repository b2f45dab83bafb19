#include "services/poller/jwks.h"

#include <stdio.h>

#include "common/base/text.h"

const char *jwks_request(const struct ald_profile *profile, struct fetch_request *out)
{
    const char *url = ald_auth_jwks(profile->auth, NULL);
    *out = (struct fetch_request){
        .url = url, .timeout_ms = JWKS_TIMEOUT_MS, .max_bytes = ALD_JWKS_TEXT_MAX};
    return url[0] != '\0' ? NULL : "the profile names no address of keys";
}

void jwks_answered(const struct ald_profile *profile, const struct fetch_answer *answer,
                   struct msg_outcome *out)
{
    *out = (struct msg_outcome){.left = answer->left,
                                .answered = answer->answered,
                                .http = answer->status,
                                .took_ms = answer->took_ms,
                                .poll_url = ald_span_str(ald_auth_jwks(profile->auth, NULL))};
    if (answer->answered)
        out->result = answer->body;
    (void)snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_IGNORE));
    ald_text_cut(out->error, sizeof out->error, ald_span_str(answer->error));
}
