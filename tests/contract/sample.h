/* sample.h - a small message with a field of each kind, for the tests of the codec. */
#ifndef ALD_TESTS_CONTRACT_SAMPLE_H
#define ALD_TESTS_CONTRACT_SAMPLE_H

#include <stddef.h>

#include "proto/wire.h"

struct sample {
    uint64_t num;
    char name[8];
    int64_t age;
    bool flag;
    uint64_t id;
    struct ald_span data;
};

static const struct ald_field sample_fields[] = {
    {"num", ALD_FIELD_U64, offsetof(struct sample, num), 0, true, 3},
    {"name", ALD_FIELD_TEXT, offsetof(struct sample, name), 8, true, 4},
    {"age", ALD_FIELD_I64, offsetof(struct sample, age), 0, false, 3},
    {"flag", ALD_FIELD_BOOL, offsetof(struct sample, flag), 0, false, 4},
    {"id", ALD_FIELD_ID, offsetof(struct sample, id), 0, false, 2},
    {"data", ALD_FIELD_SPAN, offsetof(struct sample, data), 300, false, 4},
};

static const struct ald_schema sample_schema = {
    .kind = "sample",
    .version = 2,
    .size = sizeof(struct sample),
    .fields = sample_fields,
    .count = sizeof(sample_fields) / sizeof(sample_fields[0]),
};

#endif
