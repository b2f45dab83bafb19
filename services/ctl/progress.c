#include "services/ctl/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "services/ctl/ctl.h"

enum {
    PROGRESS_FIRST_MS = 500, /* what is quicker says nothing */
    PROGRESS_TERMINAL_MS = 100,
    PROGRESS_LINE_MS = 10000,
    PROGRESS_BAR = 24,
    PROGRESS_LINE_MAX = 160
};

void progress_begin(struct progress *self, const char *what, bool quiet)
{
    int64_t now_ms = ald_clock_now().mono_ms;
    *self = (struct progress){
        .what = what, .terminal = isatty(STDERR_FILENO) != 0, .quiet = quiet, .begun_ms = now_ms};
    self->next_ms = now_ms + (self->terminal ? PROGRESS_FIRST_MS : PROGRESS_LINE_MS);
}

static double progress_mib(uint64_t bytes)
{
    return (double)bytes / (1024.0 * 1024.0);
}

void progress_line(char *out, size_t cap, const char *what, uint64_t done, uint64_t total,
                   int64_t took_ms, bool bar)
{
    char drawn[PROGRESS_BAR + 1] = "";
    long long seconds = took_ms / 1000;
    if (total == 0) {
        (void)snprintf(out, cap, "%s: %.1f MiB, %llds", what, progress_mib(done), seconds);
        return;
    }
    done = done > total ? total : done;
    unsigned percent = (unsigned)((double)done * 100.0 / (double)total);
    memset(drawn, '.', PROGRESS_BAR);
    memset(drawn, '#', percent * PROGRESS_BAR / 100);
    (void)snprintf(out, cap, "%s: %s%s%s%u%% of %.1f MiB, %llds", what, bar ? "[" : "",
                   bar ? drawn : "", bar ? "] " : "", percent, progress_mib(total), seconds);
}

void progress_tell(struct progress *self, uint64_t done, uint64_t total)
{
    char line[PROGRESS_LINE_MAX];
    int64_t now_ms = ald_clock_now().mono_ms;
    if (self->quiet || now_ms < self->next_ms)
        return;
    self->next_ms = now_ms + (self->terminal ? PROGRESS_TERMINAL_MS : PROGRESS_LINE_MS);
    progress_line(line, sizeof line, self->what, done, total, now_ms - self->begun_ms,
                  self->terminal);
    if (!self->terminal) {
        ctl_say("%s.", line);
        return;
    }
    (void)fprintf(stderr, "\r%s\033[K", line);
    (void)fflush(stderr);
    self->shown = true;
}

void progress_end(struct progress *self)
{
    if (self->shown)
        (void)fputs("\r\033[K", stderr);
    self->shown = false;
}
