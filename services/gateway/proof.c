#include "services/gateway/proof.h"

#include <string.h>

static void proof_check(const struct proof_facts *facts, const struct http_request *request,
                        struct ald_auth_result *out)
{
    struct ald_auth_header headers[HTTP_HEADERS_MAX];
    struct ald_auth_facts auth = {.headers = headers,
                                  .body = *facts->body,
                                  .now_s = facts->now_ms / 1000,
                                  .url_token = facts->genuine,
                                  .address = facts->peer_ok,
                                  .fetched = facts->found ? &facts->found->keys : NULL};
    for (size_t i = 0; i < request->header_count && i < HTTP_HEADERS_MAX; i++)
        headers[auth.header_count++] = (struct ald_auth_header){.name = request->headers[i].name,
                                                                .value = request->headers[i].value};
    ald_auth_check(facts->profile->auth, &auth, out);
}

/* What the URL and the address prove by themselves. */
static enum ald_proof proof_plain(const struct proof_facts *facts)
{
    if (facts->genuine)
        return ALD_PROOF_TOKEN;
    return facts->profile->trust == ALD_TRUST_ID && facts->peer_ok ? ALD_PROOF_ID : ALD_PROOF_NONE;
}

/* Could another key be good for it, that is to be fetched? */
static bool proof_missed(const struct proof_facts *facts, const struct ald_auth_result *result)
{
    return facts->found && facts->found->hope != KEYCHAIN_FRESH &&
           (result->why == ALD_AUTH_NO_KEY || result->why == ALD_AUTH_MISMATCH) &&
           strcmp(result->scheme, "ed25519") == 0;
}

/* What is asked for does not hold. */
static void proof_failed(const struct proof_facts *facts, bool asks, struct proof *out)
{
    switch (ald_auth_on_fail(facts->profile->auth)) {
    case ALD_ON_FAIL_HINT:
        out->proof = ALD_PROOF_NONE;
        return;
    case ALD_ON_FAIL_QUARANTINE:
        /* A bare one from a wrong address was never more than a hint. */
        if (asks || facts->genuine)
            out->then =
                out->missed && facts->found->hope == KEYCHAIN_AWAITED ? PROOF_LATER : PROOF_SPOIL;
        return;
    case ALD_ON_FAIL_REJECT:
        out->then = out->missed ? PROOF_LATER : PROOF_REJECT;
        return;
    }
}

void proof_find(const struct proof_facts *facts, const struct http_request *request,
                struct proof *out)
{
    *out = (struct proof){.then = PROOF_STORE, .result = {.why = ALD_AUTH_OK, .scheme = ""}};
    if (!facts->profile) {
        out->proof = facts->genuine ? ALD_PROOF_TOKEN : ALD_PROOF_NONE;
        return;
    }
    out->proof = proof_plain(facts);
    const ald_auth_t *auth = facts->profile->auth;
    bool asks = ald_auth_asks(auth);
    if (asks && facts->body)
        proof_check(facts, request, &out->result);
    else if (!facts->peer_ok)
        out->result = (struct ald_auth_result){.why = ALD_AUTH_ADDRESS, .scheme = "source_ips"};
    out->looked = (asks && facts->body) || !facts->peer_ok;
    out->missed = proof_missed(facts, &out->result);
    if (out->result.why != ALD_AUTH_OK)
        proof_failed(facts, asks, out);
    else if (asks && facts->body)
        out->proof = ALD_PROOF_AUTH;
}
