/* blot.h - secrets that a provider says back are made unreadable before anything is kept.
 *
 * A secret is found as it is, percent-encoded, escaped as in JSON or HTML, in hex, and in base64
 * wherever its groups begin: pages of errors show an address or a header in all of these ways.
 * Other transformations (compression, a digest) are not seen. Pure; any thread.
 */
#ifndef ALD_POLLER_BLOT_H
#define ALD_POLLER_BLOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/span.h"

/* out holds the first len bytes of from: write * over what spells secret there, also where the end
 * of out cuts through it. "" is found nowhere. */
void blot(uint8_t *out, size_t len, struct ald_span from, const char *secret);

#endif
