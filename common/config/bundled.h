/* bundled.h - the profiles of proto/providers, inside the program. The table is written by the
 * build (embed.cmake). Any thread. */
#ifndef ALD_CONFIG_BUNDLED_H
#define ALD_CONFIG_BUNDLED_H

#include <stddef.h>

struct ald_bundled {
    const char *name;
    const unsigned char *text; /* YAML */
    size_t len;
};

/* In the order of their names. */
extern const struct ald_bundled ALD_BUNDLED[];
extern const size_t ALD_BUNDLED_COUNT;

/* NULL: there is none of that name. */
const struct ald_bundled *ald_bundled_find(const char *name);

#endif
