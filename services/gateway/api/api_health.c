/* Probes, and the metrics of every daemon on one page. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/net/sock.h"
#include "common/store/disk_meter.h"
#include "services/gateway/api/api_call.h"
#include "services/gateway/api/metrics_merge.h"

enum {
    HEALTH_ASK_MS = 1000,
    HEALTH_NOTE_MS = 250,
    HEALTH_PAGE_MAX = 16 << 20,
    HEALTH_DAEMONS_MAX = 64
};

void api_alive(struct api_call *call)
{
    (void)http_answer(call->exchange, 200, "Content-Type: text/plain\r\n", ald_span_str("alive\n"));
}

/* Could a callback that came now be kept? */
static const char *health_why_not(struct api *api)
{
    if (atomic_load(&api->stopping))
        return "stopping\n";
    if (!keyring_known(api->keyring))
        return "the tracker has not told the callback keys yet\n";
    if (!atomic_load(&api->welcomed) && !atomic_load(&api->writable))
        return "the tracker is away and the spool can't be written\n";
    return NULL;
}

void api_ready(struct api_call *call)
{
    const char *why = health_why_not(call->api);
    (void)http_answer(call->exchange, why ? 503 : 200, "Content-Type: text/plain\r\n",
                      ald_span_str(why ? why : "ready\n"));
}

/* The daemon of a control channel: SERVICE, or SERVICE-NAME. */
static const char *health_who(const char *channel)
{
    return channel + strlen(ALD_CHANNEL_CONTROL) + 1;
}

static void health_page(struct api_call *call, const char *channel, void *pages)
{
    struct msg_control ask = {.what = "metrics"};
    struct msg_blob blob;
    zmsg_t *answer = NULL;
    if (caller_ask(call->api->caller, channel, &MSG_CONTROL, &ask, HEALTH_ASK_MS, &answer) ==
        ALD_OK) {
        (void)zmsg_first(answer);
        zframe_t *frame = zmsg_next(answer);
        const char *name = health_who(channel);
        char svc[32];
        ald_text_cut(svc, sizeof svc, ald_span_of(name, strcspn(name, "-")));
        if (frame && api_read(frame, &MSG_BLOB, &blob))
            metrics_merge_add(pages, svc, name, blob.bytes);
    }
    zmsg_destroy(&answer);
}

static bool health_is_other(const char *name, const char *own)
{
    static const char prefix[] = ALD_CHANNEL_CONTROL "-";
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (name[i] == '"' || name[i] == '\\' || name[i] < 0x21 || name[i] > 0x7e)
            return false;
    return len < API_ARGUMENT_MAX && strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           strcmp(name, own) != 0 && !strstr(name, ".lock");
}

/* What is wrong with the settings as a daemon read them last. */
static void health_note(struct api_call *call, const char *channel, void *books)
{
    struct msg_control ask = {.what = "health"};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    if (caller_ask(call->api->caller, channel, &MSG_CONTROL, &ask, HEALTH_NOTE_MS, &answer) ==
            ALD_OK &&
        api_read(zmsg_first(answer), &MSG_ANSWER, &head) && strcmp(head.rc, "ok") == 0 &&
        head.detail[0] != '\0')
        audit_add_text(books, "settings", health_who(channel), head.detail);
    zmsg_destroy(&answer);
}

/* Each daemon that runs on this machine, but for this one. */
static void health_each(struct api_call *call,
                        void (*ask)(struct api_call *call, const char *channel, void *arg),
                        void *arg)
{
    const char *run = call->api->settings->bus.run;
    const char *own = ald_service_channel(call->api->service);
    DIR *dir = opendir(run);
    if (!dir)
        return;
    int asked = 0;
    for (const struct dirent *entry = readdir(dir); entry && asked < HEALTH_DAEMONS_MAX;
         entry = readdir(dir)) {
        if (!health_is_other(entry->d_name, own) || !ald_sock_lives(run, entry->d_name))
            continue;
        ask(call, entry->d_name, arg);
        asked++;
    }
    (void)closedir(dir);
}

void api_notes(struct api_call *call, struct audit *books)
{
    char note[ALD_TEXT_MAX];
    ald_service_note(call->api->service, note, sizeof note);
    if (note[0] != '\0')
        audit_add_text(books, "settings", health_who(ald_service_channel(call->api->service)),
                       note);
    health_each(call, health_note, books);
}

void api_metrics(struct api_call *call)
{
    struct ald_buf own;
    ald_buf_init(&own, HEALTH_PAGE_MAX);
    metrics_merge_t *pages = metrics_merge_new();
    ald_disk_measure(call->api->settings->gateway.spool);
    ald_metrics_write(&own);
    metrics_merge_add(pages, "gateway", health_who(ald_service_channel(call->api->service)),
                      ald_buf_span(&own));
    health_each(call, health_page, pages);
    ald_buf_reset(&call->worker->out);
    metrics_merge_write(pages, &call->worker->out);
    (void)http_answer(call->exchange, 200, "Content-Type: text/plain; version=0.0.4\r\n",
                      ald_buf_span(&call->worker->out));
    metrics_merge_destroy(&pages);
    ald_buf_free(&own);
}
