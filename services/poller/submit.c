#include "services/poller/submit.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/facts.h"

bool submit_request(const struct ald_profile *profile, struct work_submit *submit,
                    struct ald_request *out, struct ald_err *err)
{
    struct ald_given given;
    const char *why = NULL;
    if (ald_given_read(ald_span_of(submit->submission, submit->len), &given, &why) != ALD_OK) {
        (void)ald_err_set(err, ALD_MALFORMED, "%s", why);
        return false;
    }
    const struct ald_request_in in = {.stage = ALD_STAGE_SUBMIT,
                                      .callback_url = submit->callback_url,
                                      .given = &given,
                                      .why = err};
    enum ald_rc rc = ald_profile_request(profile, &in, out);
    if (rc != ALD_OK && err->text[0] == '\0')
        (void)ald_err_set(err, rc, "The provider's profile does not say how to submit.");
    if (rc != ALD_OK)
        return false;
    if (ald_text_copy(submit->asked, sizeof submit->asked, ald_buf_span(&out->url)) != ALD_OK)
        submit->asked[0] = '\0';
    return true;
}

static bool submit_address_ok(const struct ald_profile *profile, enum ald_stage stage,
                              const char *asked, struct ald_span address)
{
    char url[ALD_URL_MAX];
    return ald_text_copy(url, sizeof url, address) == ALD_OK &&
           ald_profile_address_ok(profile, stage, asked[0] != '\0' ? asked : NULL, url);
}

void submit_check(const struct ald_profile *profile, const struct work_submit *submit,
                  struct msg_outcome *out)
{
    if (!submit_address_ok(profile, ALD_STAGE_POLL, submit->asked, out->poll_url))
        out->poll_url = ald_span_of(NULL, 0);
    if (!submit_address_ok(profile, ALD_STAGE_FETCH, submit->asked, out->result_url))
        out->result_url = ald_span_of(NULL, 0);
    struct ald_span id = ald_span_str(out->provider_id);
    if (!profile->id_may_be_url || strstr(out->provider_id, "://") == NULL ||
        submit_address_ok(profile, ALD_STAGE_POLL, submit->asked, id))
        return;
    out->provider_id[0] = '\0';
    snprintf(out->error, sizeof out->error,
             "The address in the provider's answer is not on the host that it was sent to.");
}

void submit_refused(const char *error, struct msg_outcome *out)
{
    *out = (struct msg_outcome){0};
    snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_FAILED));
    snprintf(out->class_, sizeof out->class_, "%s", ald_class_name(ALD_CLASS_NONE));
    snprintf(out->scope, sizeof out->scope, "%s", ald_scope_name(ALD_SCOPE_TASK));
    snprintf(out->code, sizeof out->code, "invalid_submission");
    snprintf(out->error, sizeof out->error, "%s", error);
}
