#include "services/poller/push.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "common/base/text.h"
#include "common/config/cidr.h"

void push_blocks_load(const struct ald_texts *texts, struct push_blocks *out)
{
    out->count = 0;
    for (size_t i = 0; i < texts->count; i++)
        if (ald_cidr_parse(texts->item[i], &out->list[out->count]) == ALD_OK)
            out->count++;
}

bool push_may(const void *arg, const struct sockaddr *address)
{
    const struct push_blocks *blocks = arg;
    char text[INET6_ADDRSTRLEN] = "";
    const void *bytes = NULL;
    if (address->sa_family == AF_INET)
        bytes = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    else if (address->sa_family == AF_INET6)
        bytes = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (!bytes || !inet_ntop(address->sa_family, bytes, text, sizeof text))
        return false;
    for (size_t i = 0; i < blocks->count; i++)
        if (ald_cidr_has(&blocks->list[i], text))
            return true;
    return false;
}

void push_request(const struct work_item *item, const struct push_blocks *blocks,
                  char header[PUSH_HEADER_MAX], struct fetch_request *out)
{
    const char *trace = item->lease.trace;
    (void)snprintf(header, PUSH_HEADER_MAX, "traceparent: %s\n", trace);
    *out = (struct fetch_request){.url = item->poll_url ? item->poll_url : "",
                                  .method = "POST",
                                  .headers = trace[0] != '\0' ? header : NULL,
                                  .type = "application/x-www-form-urlencoded",
                                  .post = ald_span_of(item->body, item->body_len),
                                  .timeout_ms = PUSH_TIMEOUT_MS,
                                  .max_bytes = PUSH_ANSWER_MAX,
                                  .once = true,
                                  .may = push_may,
                                  .may_arg = blocks};
    if (item->body_len > 0 && item->body[0] == '{')
        out->type = "application/json";
}

void push_answered(const struct fetch_answer *answer, struct msg_outcome *out)
{
    *out = (struct msg_outcome){.left = answer->left,
                                .answered = answer->status != 0,
                                .http = answer->status,
                                .took_ms = answer->took_ms};
    (void)snprintf(out->then, sizeof out->then, "%s", ald_then_name(ALD_THEN_IGNORE));
    ald_text_cut(out->error, sizeof out->error, ald_span_str(answer->error));
}
