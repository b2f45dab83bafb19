/* screen.h - the terminal while a live view has it: another screen, keys one by one, signals told
 * in their turn. Plain ANSI.
 *
 * Whatever ends us, the terminal is as it was: by screen_close, by a signal, which is given to us
 * again after that, or by abort(). Suspended (Ctrl-Z), it is as it was until we go on.
 * Threads: one; one screen a process.
 */
#ifndef ALD_CTL_SCREEN_H
#define ALD_CTL_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"

enum screen_event {
    SCREEN_TIME, /* the time is up */
    SCREEN_KEY,
    SCREEN_REDRAW, /* its size is another, or we go on after a stop */
    SCREEN_END     /* a signal to end us came, or the terminal is gone */
};

enum { SCREEN_KEY_UP = 256, SCREEN_KEY_DOWN };

/* Take the terminal of stdin and stdout. ALD_IO: it can't be, and nothing was changed. */
ALD_NODISCARD enum ald_rc screen_open(void);
/* Give it back; the signal that ended us, if one did, is raised again, and then this does not
 * return. */
void screen_close(void);

/* The first that happens; *key is a character or one of the above. */
enum screen_event screen_wait(int64_t wait_ms, int *key);
/* Is a signal to end us waiting? Takes nothing; for who is busy with something else. */
bool screen_wants_end(void);

void screen_size(unsigned *rows, unsigned *columns);
/* Put a page in the place of what is shown. */
void screen_show(struct ald_span page);

#endif
