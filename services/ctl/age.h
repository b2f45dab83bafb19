/* age.h - a length of time as a person reads it, everywhere the same: the units that settings are
 * written in, the largest of which there are two at least: `90s`, `5m`, `36h`, `12d`.
 *
 * Pure; any thread.
 */
#ifndef ALD_CTL_AGE_H
#define ALD_CTL_AGE_H

#include <stdint.h>

enum { AGE_TEXT_MAX = 24 };

/* Rounded down; below 0 is 0. Returns out. */
const char *age_text(int64_t ms, char out[AGE_TEXT_MAX]);

#endif
