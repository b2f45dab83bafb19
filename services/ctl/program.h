/* program.h - running another of aldaba's programs, which knows what is its own better than we do:
 * from the folder that our own program lies in, from its neighbour as in a folder of a build, else
 * from PATH.
 *
 * Threads: one.
 */
#ifndef ALD_CTL_PROGRAM_H
#define ALD_CTL_PROGRAM_H

#include "common/base/buf.h"
#include "common/base/guard.h"

/* Become this program, such as "aldaba-gateway". words: its arguments with argv[0], NULL-ended.
 * Returns when it can't be run, and said why. */
void program_become(const char *name, char *const *words);

/* Run it to its end. Called with each line of its stdout, without the newline; stderr is ours. The
 * exit code, or -1: it can't be run, or was killed, and it was said why. */
typedef void program_line_fn(void *context, const char *line);
int program_read(const char *name, char *const *words, program_line_fn *fn, void *context);

#endif
