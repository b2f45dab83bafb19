#include "services/poller/call.h"

enum { CALL_ANSWER_MAX = 64 << 10 };

const char *call_request(const struct ald_profile *profile, const struct work_item *item,
                         struct ald_request *out)
{
    struct ald_given given = {0};
    struct ald_span params = ald_span_str(item->params ? item->params : "{}");
    if (ald_json_scan(params, &given.params, NULL) != ALD_OK ||
        given.params.kind != ALD_JSON_OBJECT)
        return "the parameters of the call are no JSON object";
    enum ald_rc rc = ald_profile_call(profile, item->lease.path, &given, out);
    if (rc == ALD_MISSING)
        return "the profile has no address that a call could go to, or no key for it";
    return rc == ALD_OK ? NULL : "the call can't be made of what was given";
}

void call_answered(const struct fetch_answer *answer, struct msg_outcome *out)
{
    bool whole = answer->answered && answer->body.len <= CALL_ANSWER_MAX;
    out->result = whole ? answer->body : ald_span_of(NULL, 0);
    out->result_json = false;
    out->poll_url = out->result_url = ald_span_of(NULL, 0);
}
