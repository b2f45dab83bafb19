#include "common/base/guard.h"

#include <stdio.h>
#include <stdlib.h>

void ald_item_free(void **item_p)
{
    free(*item_p);
    *item_p = NULL;
}

_Noreturn void ald_assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "bug: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
