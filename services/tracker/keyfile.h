/* keyfile.h - the callback keys on disk: the file that the settings name, or one that is made at
 * the first start. Losing it makes every callback URL in the world a 404.
 */
#ifndef ALD_TRACKER_KEYFILE_H
#define ALD_TRACKER_KEYFILE_H

#include "common/base/rc.h"
#include "common/config/settings.h"
#include "proto/token.h"

/* security.callback_keys, else <store.data>/callback.key, made (0600, durable) when absent.
 * ALD_OK; ALD_IO, ALD_INVALID: err says what to do. */
ALD_NODISCARD enum ald_rc keyfile_load(const struct ald_settings *settings, struct ald_keys *keys,
                                       struct ald_err *err);

#endif
