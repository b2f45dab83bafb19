/* progress.h - how far long work has come, on stderr: a line that is written over on a terminal, a
 * line every ten seconds elsewhere, nothing with --quiet. What is quick says nothing.
 *
 * Threads: one.
 */
#ifndef ALD_CTL_PROGRESS_H
#define ALD_CTL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    const char *what;
    bool terminal;
    bool quiet;
    bool shown;       /* a line stands on the terminal */
    int64_t begun_ms; /* monotonic */
    int64_t next_ms;  /* when it is told again */
};

void progress_begin(struct progress *self, const char *what, bool quiet);
/* So many bytes are done, of so many; 0: nobody knows how many there will be. */
void progress_tell(struct progress *self, uint64_t done, uint64_t total);
/* Take the line away. */
void progress_end(struct progress *self);

/* The line for it, without an end. Pure. */
void progress_line(char *out, size_t cap, const char *what, uint64_t done, uint64_t total,
                   int64_t took_ms, bool bar);

#endif
