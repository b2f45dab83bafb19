/* peer.h - who sent a request: the socket's other end, or what a trusted proxy says about it.
 *
 * X-Forwarded-For is a claim. It counts only when the socket's peer is in gateway.trusted_proxies;
 * then the peer is the rightmost address that is not in that list. Pure; any thread.
 */
#ifndef ALD_GATEWAY_PEER_H
#define ALD_GATEWAY_PEER_H

#include "common/config/profile.h"
#include "common/config/settings.h"
#include "proto/messages.h"
#include "services/gateway/http/http.h"

struct peer_rules {
    size_t count;
    struct ald_cidr block[ALD_TEXTS_MAX];
};

/* Read addresses and CIDR blocks. ALD_INVALID: err names the one that is neither. */
ALD_NODISCARD enum ald_rc peer_rules_load(const struct ald_texts *texts, struct peer_rules *out,
                                          struct ald_err *err);

/* Write the peer's address, normalised; "" when a trusted proxy named something that is no
 * address. */
void peer_find(const struct peer_rules *rules, const struct http_request *request,
               char out[ALD_PEER_MAX]);

/* The network of a peer as a short text: /24, or /64 of IPv6; "" when it is no address. */
void peer_network(struct ald_span peer, char out[ALD_PEER_MAX]);

#endif
