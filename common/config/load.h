/* load.h - small readers of a YAML tree for whatever is compiled from one: each says what is wrong,
 * with its place, and goes on, so that all that is wrong comes out at once.
 *
 * They know no key by name. Threads: none of its own.
 */
#ifndef ALD_CONFIG_LOAD_H
#define ALD_CONFIG_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config/arena.h"
#include "common/config/yaml.h"

/* A reading under way. */
struct ald_load {
    ald_arena_t *arena;
    struct ald_errors *errors;
    struct ald_errors *warnings; /* NULL: nobody wants them */
};

/* Nothing there, or a word that says so: null, ~, or none. */
bool ald_load_none(const struct ald_node *node);

/* True for a map whose keys are all in the NULL-ended list; else what is wrong was said. what names
 * the map. */
bool ald_load_keys(struct ald_load *self, const struct ald_node *map, const char *what,
                   const char *const *keys);

/* A text of 1 to max bytes. NULL: said why. Borrowed from the arena. */
const char *ald_load_text(struct ald_load *self, const struct ald_node *node, size_t max);

/* A whole number from min to max; fallback when node is NULL or wrong, and then it was said. */
int64_t ald_load_int(struct ald_load *self, const struct ald_node *node, int64_t min, int64_t max,
                     int64_t fallback);

/* true or false. */
bool ald_load_bool(struct ald_load *self, const struct ald_node *node, bool fallback);

/* A time with its unit, at most a year, in ms. */
int64_t ald_load_duration(struct ald_load *self, const struct ald_node *node, int64_t fallback);

/* `retry-after`, `retry-after|10s`, or a time alone. *retry_after says which. */
int64_t ald_load_wait(struct ald_load *self, const struct ald_node *node, bool *retry_after);

/* The place of a word in a NULL-ended list; -1 and said when it is none of them. */
int ald_load_word(struct ald_load *self, const struct ald_node *node, const char *const *words);

#endif
