#include "services/poller/terms.h"

#include <sys/resource.h>

#include "common/base/log.h"

enum {
    TERMS_FDS_SPARE = 256, /* descriptors beside those of requests */
    TERMS_FDS_EACH = 2     /* a connect may try two addresses at once */
};

int64_t terms_timeout(const struct ald_settings *settings, const struct ald_profile *profile,
                      int64_t rest_ms)
{
    int64_t least = profile->poll_timeout_ms;
    if (settings->poller.timeout_ms < least)
        least = settings->poller.timeout_ms;
    return rest_ms < least ? rest_ms : least;
}

const char *terms_why(enum ald_rc rc)
{
    if (rc == ALD_MISSING)
        return "the profile has no poll, or what it needs for one is absent";
    if (rc == ALD_INVALID)
        return "the poll request can't be made of what the provider gave";
    return "the poll request is too long";
}

size_t terms_under_way(int64_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return (size_t)wanted;
    rlim_t spare = limit.rlim_cur > TERMS_FDS_SPARE ? limit.rlim_cur - TERMS_FDS_SPARE : 1;
    size_t bound = spare / TERMS_FDS_EACH > 0 ? (size_t)(spare / TERMS_FDS_EACH) : 1;
    if (bound >= (size_t)wanted)
        return (size_t)wanted;
    ald_log(ALD_WARN, "poller.few_fds", "max_in_flight=%zu wanted=%lld text=%s", bound,
            (long long)wanted, "\"raise the limit of open files\"");
    return bound;
}
