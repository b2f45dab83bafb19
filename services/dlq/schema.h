/* schema.h - the numbered steps of the file letters.db. A released step never changes. */
#ifndef ALD_DLQ_SCHEMA_H
#define ALD_DLQ_SCHEMA_H

#include "common/store/store.h"

enum { SCHEMA_STEPS = 2, SCHEMA_APPLICATION = 0x414c444c };

extern const struct ald_store_step schema_steps[SCHEMA_STEPS];

#endif
