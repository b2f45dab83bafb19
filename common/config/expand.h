/* expand.h - environment variables in a value: ${VAR}, ${VAR:-default}, ${VAR:?message}, $$.
 * Only upper-case names are variables; ${lower} stays. Reads the environment, so not beside a
 * thread that changes it. */
#ifndef ALD_CONFIG_EXPAND_H
#define ALD_CONFIG_EXPAND_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

/* Append the expanded text to out. *is_template: a ${lower} was left in it.
 * ALD_INVALID: not well formed; ALD_MISSING: a variable without default is not set; err says which.
 */
ALD_NODISCARD enum ald_rc ald_expand(struct ald_span text, struct ald_buf *out, bool *is_template,
                                     struct ald_err *err);

#endif
