/* settings_rows.h - the table behind settings.h, which holds every key, default and bound. */
#ifndef ALD_CONFIG_SETTINGS_ROWS_H
#define ALD_CONFIG_SETTINGS_ROWS_H

#include "common/config/setting.h"

extern const struct ald_setting_table ALD_SETTINGS_TABLE;

#endif
