#include "common/config/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/base/text.h"

enum ald_rc ald_address_parse(const char *text, struct sockaddr_in *out)
{
    char host[INET_ADDRSTRLEN];
    uint64_t port = 0;
    size_t len = strcspn(text, ":");
    *out = (struct sockaddr_in){.sin_family = AF_INET};
    if (text[len] != ':' || ald_text_copy(host, sizeof host, ald_span_of(text, len)) != ALD_OK ||
        inet_pton(AF_INET, host, &out->sin_addr) != 1 ||
        ald_text_u64(ald_span_str(text + len + 1), &port) != ALD_OK || port > UINT16_MAX)
        return ALD_INVALID;
    out->sin_port = htons((uint16_t)port);
    return ALD_OK;
}
