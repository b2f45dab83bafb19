#include "services/poller/fetch_shard.h"

#include "common/base/clock.h"

static int fetch_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    (void)easy, (void)known;
    struct fetch_shard *self = arg;
    if (what == CURL_POLL_REMOVE) {
        watch_forget(self->watch, fd);
        return 0;
    }
    /* Never an error from here: it would end every request. This one alone runs into its time. */
    const struct watch_ready what_for = {.in = what & CURL_POLL_IN, .out = what & CURL_POLL_OUT};
    (void)watch_fd(self->watch, fd, self->tag, what_for);
    return 0;
}

static int fetch_on_timer(CURLM *multi, long timeout_ms, void *arg)
{
    (void)multi;
    struct fetch_shard *self = arg;
    self->due_ms = timeout_ms < 0 ? INT64_MAX : ald_clock_mono_ms() + timeout_ms;
    return 0;
}

bool fetch_shard_open(struct fetch_shard *self, watch_t *watch, unsigned tag, size_t most)
{
    *self = (struct fetch_shard){
        .watch = watch, .tag = tag, .multi = curl_multi_init(), .due_ms = INT64_MAX};
    if (!self->multi)
        return false;
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, fetch_on_socket);
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, fetch_on_timer);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERDATA, self);
    curl_multi_setopt(self->multi, CURLMOPT_MAXCONNECTS, (long)most);
    curl_multi_setopt(self->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)most);
    return true;
}

void fetch_shard_close(struct fetch_shard *self)
{
    curl_multi_cleanup(self->multi);
    self->multi = NULL;
}

void fetch_shard_ready(struct fetch_shard *self, int fd, struct watch_ready ready)
{
    int running = 0;
    int what = (ready.in ? CURL_CSELECT_IN : 0) | (ready.out ? CURL_CSELECT_OUT : 0) |
               (ready.broken ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(self->multi, fd, what, &running);
}

void fetch_shard_timeout(struct fetch_shard *self)
{
    int running = 0;
    self->due_ms = INT64_MAX; /* unless it says otherwise now */
    curl_multi_socket_action(self->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

struct fetch_shard *fetch_shard_choose(struct fetch_shard *shards, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && shards[i].under_way >= FETCH_SHARD)
        i++;
    return &shards[i];
}
