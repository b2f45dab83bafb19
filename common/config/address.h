/* address.h - where to listen, as settings write it: `127.0.0.1:7780`. IPv4 alone, and no names:
 * what is listened on must not depend on a resolver. Pure; any thread. */
#ifndef ALD_CONFIG_ADDRESS_H
#define ALD_CONFIG_ADDRESS_H

#include <netinet/in.h>

#include "common/base/guard.h"
#include "common/base/rc.h"

/* ALD_INVALID: it is no address with a port from 0 (any that is free) to 65535. */
ALD_NODISCARD enum ald_rc ald_address_parse(const char *text, struct sockaddr_in *out);

#endif
