#include "common/base/guard.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void ald_assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "bug: %s:%d: %s does not hold\n", file, line, condition);
    abort();
}
