/* keyfile.h - the callback keys on disk: the file that the settings name, or one that is made at
 * the first start. Losing it makes every callback URL in the world a 404.
 *
 * A key that was altered or swapped would do the same in silence. So the store keeps a digest of
 * each key (48 bits: enough to tell, of no use to guess a key by), and a start with other keys is
 * refused. A new key in front of the old ones is a change of keys, and taken.
 */
#ifndef ALD_TRACKER_KEYFILE_H
#define ALD_TRACKER_KEYFILE_H

#include "common/base/rc.h"
#include "common/config/settings.h"
#include "proto/token.h"
#include "services/tracker/vault/vault.h"

/* security.callback_keys, else <store.data>/callback.key, made (0600, durable) when absent: *made.
 * ALD_OK; ALD_IO, ALD_INVALID: err says what to do. */
ALD_NODISCARD enum ald_rc keyfile_load(const struct ald_settings *settings, struct ald_keys *keys,
                                       bool *made, struct ald_err *err);

/* Hold keys against what the open store knows of the last start's, unless they were made, and have
 * it know these. ALD_OK. ALD_INVALID: the key that signed is not there any more, or one was
 * altered; err says which file and what to do. Else the vault's error. */
ALD_NODISCARD enum ald_rc keyfile_check(const struct ald_settings *settings, struct vault *vault,
                                        const struct ald_keys *keys, bool made,
                                        struct ald_err *err);

/* Read the keys of path and hold them against what a store knows, which is only read. ALD_OK. Else
 * err says what is wrong, as above; keys may be filled. */
ALD_NODISCARD enum ald_rc keyfile_verify(const char *path, ald_store_t *store,
                                         struct ald_keys *keys, struct ald_err *err);

/* Write keys to <dir>/callback.key (0600, durable), for a backup. ALD_OK, ALD_IO, ALD_TOOBIG. */
ALD_NODISCARD enum ald_rc keyfile_copy(const struct ald_keys *keys, const char *dir,
                                       struct ald_err *err);

#endif
