/* fit.h - do the settings and the profiles fit each other? What no row of the table can tell alone.
 * Pure; any thread.
 */
#ifndef ALD_CONFIG_FIT_H
#define ALD_CONFIG_FIT_H

#include "common/config/profile.h"
#include "common/config/settings.h"

/* Append an error, with its place in the file, for each thing that does not fit. True: all fits. */
ALD_NODISCARD bool ald_settings_fit(const struct ald_settings *settings,
                                    const ald_profiles_t *profiles, struct ald_errors *errors);

#endif
