#include "services/gateway/peer.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/cidr.h"

static const uint8_t PEER_V4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

enum ald_rc peer_rules_load(const struct ald_texts *texts, struct peer_rules *out,
                            struct ald_err *err)
{
    *out = (struct peer_rules){0};
    for (size_t i = 0; i < texts->count; i++) {
        if (ald_cidr_parse(texts->item[i], &out->block[i]) != ALD_OK)
            return ald_err_set(err, ALD_INVALID,
                               "gateway.trusted_proxies: %s is not an address or a block such as "
                               "10.0.0.0/8",
                               texts->item[i]);
        out->count++;
    }
    return ALD_OK;
}

static bool peer_trusted(const struct peer_rules *rules, const char *address)
{
    for (size_t i = 0; i < rules->count; i++)
        if (ald_cidr_has(&rules->block[i], address))
            return true;
    return false;
}

/* An address in its one usual form; an IPv4 address mapped into IPv6 is that IPv4 address. */
static bool peer_normal(struct ald_span text, char out[ALD_PEER_MAX])
{
    char copy[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    if (ald_text_copy(copy, sizeof copy, text) != ALD_OK)
        return false;
    if (inet_pton(AF_INET, copy, bytes) == 1)
        return inet_ntop(AF_INET, bytes, out, ALD_PEER_MAX) != NULL;
    if (inet_pton(AF_INET6, copy, bytes) != 1)
        return false;
    if (memcmp(bytes, PEER_V4, sizeof PEER_V4) == 0)
        return inet_ntop(AF_INET, bytes + sizeof PEER_V4, out, ALD_PEER_MAX) != NULL;
    return inet_ntop(AF_INET6, bytes, out, ALD_PEER_MAX) != NULL;
}

/* One element of the list: an address, or one with a port as some proxies write it. */
static bool peer_element(struct ald_span text, char out[ALD_PEER_MAX])
{
    text = ald_span_trim(text);
    if (text.len > 0 && text.data[0] == '[') {
        text = ald_span_skip(text, 1);
        return peer_normal(ald_span_of(text.data, ald_span_find(text, ']')), out);
    }
    return peer_normal(text, out) ||
           (peer_normal(ald_span_of(text.data, ald_span_find(text, ':')), out) &&
            !strchr(out, ':'));
}

/* Walk one header's list from the right. True: out is an address that is no proxy of ours, or ""
 * for something that is no address. */
static bool peer_walk(const struct peer_rules *rules, const char *list, char out[ALD_PEER_MAX])
{
    size_t end = strlen(list);
    for (;;) {
        size_t begin = end;
        while (begin > 0 && list[begin - 1] != ',')
            begin--;
        if (!peer_element(ald_span_of(list + begin, end - begin), out)) {
            out[0] = '\0';
            return true;
        }
        if (!peer_trusted(rules, out))
            return true;
        if (begin == 0)
            return false;
        end = begin - 1;
    }
}

void peer_find(const struct peer_rules *rules, const struct http_request *request,
               char out[ALD_PEER_MAX])
{
    if (rules->count == 0) { /* the usual case, on the path of every callback */
        ald_text_cut(out, ALD_PEER_MAX, ald_span_str(request->peer));
        return;
    }
    if (!peer_normal(ald_span_str(request->peer), out)) {
        out[0] = '\0';
        return;
    }
    if (!peer_trusted(rules, out))
        return;
    for (size_t i = request->header_count; i > 0; i--) {
        const struct http_header *h = &request->headers[i - 1];
        if (http_header_is(h, "X-Forwarded-For") && peer_walk(rules, h->value, out))
            return;
    }
}

void peer_network(struct ald_span peer, char out[ALD_PEER_MAX])
{
    uint8_t bytes[16];
    if (!peer_normal(peer, out)) {
        out[0] = '\0';
    } else if (inet_pton(AF_INET, out, bytes) == 1) {
        bytes[3] = 0;
        (void)inet_ntop(AF_INET, bytes, out, ALD_PEER_MAX);
    } else if (inet_pton(AF_INET6, out, bytes) == 1) {
        memset(bytes + 8, 0, 8);
        (void)inet_ntop(AF_INET6, bytes, out, ALD_PEER_MAX);
    }
}
