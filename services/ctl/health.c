/* Health, for containers and service managers: is a service ready? The gateway says so at /readyz;
 * the others are asked on their own control sockets, so that the answer does not depend on anybody
 * else. With --url nothing but the gateway is near: then it is asked about the others. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "proto/channels.h"
#include "proto/messages.h"
#include "services/ctl/commands.h"

enum {
    HEALTH_WAIT_MS = 2000, /* for all of it; a probe that waits longer says nothing new */
    HEALTH_REST_MS = 10,
    HEALTH_CHANNEL_MAX = 128,
    HEALTH_POLLERS_MAX = 64
};

static int health_unready(const char *service, const char *why)
{
    ctl_say("The %s is not ready: %s.", service, CTL_SAFE(why));
    return CTL_FAILED;
}

/* It is ready, and yet there is something to say: its settings were refused. */
static void health_tell(const char *service, int code, const char *note)
{
    if (code == CTL_OK && note[0] != '\0')
        ctl_say("The %s is ready, but %s", service, CTL_SAFE(note));
}

static int health_silent(const char *service)
{
    ctl_say("The %s runs, but it does not answer within %d s; its log says what it is doing.",
            service, HEALTH_WAIT_MS / 1000);
    return CTL_AGAIN;
}

static int health_absent(const char *service, const char *run)
{
    ctl_say(
        "No %s is running on the bus in %s. Start aldaba-%s, or name its settings with --config.",
        service, CTL_SAFE(run), service);
    return CTL_UNREACHABLE;
}

/* ---- over HTTP ---- */

/* The gateway's own word: could a callback that came now be kept? */
static int health_gateway(struct ctl *ctl)
{
    char why[256];
    struct api_request request = {.path = "/readyz", .timeout_ms = HEALTH_WAIT_MS};
    int code = ctl_call(ctl, &request);
    if (code != CTL_OK || ctl->answer.status == 200)
        return code;
    ald_text_cut(why, sizeof why, ald_span_trim(ald_buf_span(&ctl->answer.body)));
    return health_unready("gateway", why);
}

static int health_told(struct ctl *ctl, const char *service)
{
    struct ald_json answer;
    struct api_request request = {.path = "/v1/status", .timeout_ms = HEALTH_WAIT_MS};
    int code = ctl_ask(ctl, &request, &answer);
    if (code != CTL_OK) {
        ctl_say("With --url the gateway is asked about the %s; without, the %s is asked itself.",
                service, service);
        return CTL_AGAIN;
    }
    if (strcmp(service, "poller") != 0)
        return pick_has(answer, "/away", service) ? health_unready(service, "it does not answer")
                                                  : CTL_OK;
    if (pick_has(answer, "/away", "tracker"))
        return health_unready(service, "the tracker, which knows the pollers, does not answer");
    return pick_int(answer, "/status/pollers") > 0 ? CTL_OK
                                                   : health_unready(service, "none is at work");
}

/* ---- on the control socket ---- */

/* The answer, or NULL when the time is up. */
static zmsg_t *health_exchange(ald_sock_t *sock, int64_t until_ms)
{
    struct msg_control ask = {.req = 1, .what = "health"};
    zmsg_t *msg = zmsg_new();
    zmsg_t *answer = NULL;
    ald_frame_put(msg, &MSG_CONTROL, &ask);
    while (!answer && ald_clock_now().mono_ms < until_ms) {
        if (msg && ALD_SOCK_SEND("health.ask", sock, &msg) != ALD_OK) {
            ctl_pause(HEALTH_REST_MS); /* it is still connecting */
            continue;
        }
        answer = ald_sock_recv(sock);
        if (!answer)
            ctl_pause(HEALTH_REST_MS);
    }
    zmsg_destroy(&msg);
    return answer;
}

/* CTL_OK, CTL_FAILED with why, or CTL_AGAIN: no answer. */
static int health_ask(const struct ald_settings *settings, const char *channel, int64_t until_ms,
                      char why[ALD_TEXT_MAX])
{
    char endpoint[ALD_PATH_MAX + HEALTH_CHANNEL_MAX];
    struct ald_err err = {0};
    struct msg_answer head = {0};
    ald_sock_t *sock = NULL;
    const struct ald_sock_options options = {.type = ZMQ_DEALER};
    int code = CTL_AGAIN;
    if (ald_sock_endpoint(settings, channel, endpoint, sizeof endpoint, &err) != ALD_OK ||
        ald_sock_connect(&options, endpoint, &sock, &err) != ALD_OK)
        return CTL_AGAIN;
    zmsg_t *answer = health_exchange(sock, until_ms);
    zframe_t *frame = answer ? zmsg_first(answer) : NULL;
    if (frame && ald_wire_decode(&MSG_ANSWER, &head, ald_frame_span(frame)) == ALD_OK)
        code = strcmp(head.rc, "ok") == 0 ? CTL_OK : CTL_FAILED;
    memcpy(why, head.detail, sizeof head.detail);
    zmsg_destroy(&answer);
    ald_sock_destroy(&sock);
    return code;
}

/* name is that of a poller, "" with the others. */
static int health_one(const struct ald_settings *settings, const char *service, const char *name)
{
    char channel[HEALTH_CHANNEL_MAX];
    char why[ALD_TEXT_MAX] = "";
    (void)snprintf(channel, sizeof channel, ALD_CHANNEL_CONTROL "-%s%s%s", service,
                   name[0] != '\0' ? "-" : "", name);
    if (!ald_sock_lives(settings->bus.run, channel))
        return health_absent(service, settings->bus.run);
    int code = health_ask(settings, channel, ald_clock_now().mono_ms + HEALTH_WAIT_MS, why);
    if (code == CTL_AGAIN)
        return health_silent(service);
    health_tell(service, code, why);
    return code == CTL_OK ? CTL_OK : health_unready(service, why);
}

static int health_is_poller(const struct dirent *entry)
{
    static const char prefix[] = ALD_CHANNEL_CONTROL "-poller-";
    return strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
           strlen(entry->d_name) < HEALTH_CHANNEL_MAX && !strstr(entry->d_name, ".lock");
}

/* One that is ready is enough: any poller takes any job. But who has a name in the settings asks
 * for that one: in its container, where the bus is that of all. */
static int health_pollers(const struct ald_settings *settings)
{
    int64_t until_ms = ald_clock_now().mono_ms + HEALTH_WAIT_MS;
    struct dirent **entries = NULL;
    char why[ALD_TEXT_MAX] = "";
    int code = CTL_UNREACHABLE;
    int count = scandir(settings->bus.run, &entries, health_is_poller, alphasort);
    for (int i = 0; i < count; i++) {
        if (i < HEALTH_POLLERS_MAX && code != CTL_OK &&
            ald_sock_lives(settings->bus.run, entries[i]->d_name)) {
            int64_t now_ms = ald_clock_now().mono_ms; /* one that hangs leaves time for others */
            int64_t share_ms = (until_ms - now_ms) / 2;
            code = health_ask(settings, entries[i]->d_name, now_ms + share_ms, why);
        }
        free(entries[i]);
    }
    free(entries);
    if (code == CTL_UNREACHABLE)
        return health_absent("poller", settings->bus.run);
    if (code == CTL_AGAIN)
        return health_silent("poller");
    health_tell("poller", code, why);
    return code == CTL_OK ? CTL_OK : health_unready("poller", why);
}

static int health_asked(struct ctl *ctl, const char *service)
{
    struct ald_settings settings;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    zsys_handler_set(NULL);
    zsys_init();
    zsys_set_linger(0);
    bool poller = strcmp(service, "poller") == 0;
    if (poller && settings.poller.name[0] == '\0')
        code = health_pollers(&settings);
    else
        code = health_one(&settings, service, poller ? settings.poller.name : "");
    zsys_shutdown();
    ald_settings_free(&settings);
    return code;
}

int health_show(struct ctl *ctl, const struct args *args)
{
    static const char *const services[] = {"gateway", "tracker", "poller", "dlq"};
    const char *service = args->word[0];
    const char *url = getenv("ALDABA_URL");
    bool far = args_has(args, ARG_URL) || (url != NULL && url[0] != '\0');
    size_t at = 0;
    while (at < ALD_COUNT(services) && strcmp(service, services[at]) != 0)
        at++;
    if (at == ALD_COUNT(services)) {
        ctl_say("There is no service %s; the services are gateway, tracker, poller and dlq.",
                CTL_SAFE(service));
        return CTL_USAGE;
    }
    int code = at == 0 ? health_gateway(ctl)
               : far   ? health_told(ctl, service)
                       : health_asked(ctl, service);
    if (code == CTL_OK && !args_has(args, ARG_QUIET))
        ald_buf_put_str(&ctl->out, ctl_json(ctl) ? "{\"ready\":true}\n" : "ready\n");
    return code;
}
