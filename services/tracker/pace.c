#include "services/tracker/pace.h"

void pace_took(struct pace *self, int64_t took_ms, int64_t aim_ms)
{
    if (took_ms > aim_ms)
        self->rows -= self->rows / 8;
    else if (took_ms <= aim_ms / 2)
        self->rows += self->rows / 8 + 1;
    if (self->rows < self->least)
        self->rows = self->least;
    if (self->rows > self->most)
        self->rows = self->most;
}
