#include "services/gateway/ui.h"

#include <ctype.h>
#include <string.h>

#include "common/base/guard.h"

const struct ui_file *ui_find(const char *name)
{
    for (size_t i = 0; i < UI_FILES_COUNT; i++)
        if (strcmp(UI_FILES[i].name, name) == 0)
            return &UI_FILES[i];
    return NULL;
}

const char *ui_type(const char *name)
{
    static const struct {
        const char *suffix;
        const char *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},     {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"}, {".svg", "image/svg+xml"},
        {".LICENSE", "text/plain; charset=utf-8"},
    };
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix && i < ALD_COUNT(types); i++)
        if (strcmp(suffix, types[i].suffix) == 0)
            return types[i].type;
    return NULL;
}

bool ui_is_versioned(const char *name)
{
    for (const char *at = strchr(name, '-'); at; at = strchr(at + 1, '-'))
        if (isdigit((unsigned char)at[1]))
            return true;
    return false;
}
