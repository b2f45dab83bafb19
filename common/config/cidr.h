/* cidr.h - blocks of addresses, IPv4 and IPv6 alike: an IPv4 address is ::ffff:a.b.c.d. Pure; any
 * thread. */
#ifndef ALD_CONFIG_CIDR_H
#define ALD_CONFIG_CIDR_H

#include "common/config/profile.h"

/* Parse `10.0.0.0/8`, `2001:db8::/32`, or one address. ALD_INVALID: it is none of them, or has bits
 * set behind its prefix, which is nearly always a slip. */
ALD_NODISCARD enum ald_rc ald_cidr_parse(const char *text, struct ald_cidr *out);

/* Is the address, as text, in the block? No for what is no address. */
bool ald_cidr_has(const struct ald_cidr *block, const char *address);

#endif
