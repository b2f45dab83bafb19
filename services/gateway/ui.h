/* ui.h - the files of the dashboard, inside the program. The table is written by the build from
 * services/gateway/ui (cmake/embed.cmake). Pure; any thread.
 */
#ifndef ALD_GATEWAY_UI_H
#define ALD_GATEWAY_UI_H

#include <stdbool.h>
#include <stddef.h>

struct ui_file {
    const char *name;
    const unsigned char *bytes;
    size_t len;
};

/* In the order of their names. */
extern const struct ui_file UI_FILES[];
extern const size_t UI_FILES_COUNT;

/* NULL: there is none of that name. */
const struct ui_file *ui_find(const char *name);

/* Its media type, by its suffix. NULL: it is not one that is served. */
const char *ui_type(const char *name);

/* Does its name say a version, so that the bytes behind it never change? */
bool ui_is_versioned(const char *name);

#endif
