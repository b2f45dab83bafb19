#include "services/poller/submit.h"

#include <stdio.h>

#include "common/config/facts.h"

static const char *submit_why(enum ald_rc rc)
{
    if (rc == ALD_MISSING)
        return "something that the profile's request needs was not given, such as a parameter or "
               "the file";
    if (rc == ALD_INVALID)
        return "a parameter or file can't stand where the profile puts it";
    return "the request is too long";
}

const char *submit_request(const struct ald_profile *profile, const struct work_submit *submit,
                           struct ald_request *out)
{
    struct ald_given given;
    const char *why = NULL;
    if (ald_given_read(ald_span_of(submit->submission, submit->len), &given, &why) != ALD_OK)
        return why;
    const struct ald_request_in in = {
        .stage = ALD_STAGE_SUBMIT, .callback_url = submit->callback_url, .given = &given};
    enum ald_rc rc = ald_profile_request(profile, &in, out);
    return rc == ALD_OK ? NULL : submit_why(rc);
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
