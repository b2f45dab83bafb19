/* manual.h - what there is to say about each command besides its row in the table of commands: what
 * it does, examples, exit codes of its own. Help and manual pages are made of both.
 *
 * Text is plain, wrapped at 78 columns; paragraphs stand apart by an empty line. Pure.
 */
#ifndef ALD_CTL_MANUAL_H
#define ALD_CTL_MANUAL_H

#include <stddef.h>

struct manual {
    const char *command; /* the name in the table of commands */
    const char *about;
    const char *examples; /* a line each, as it is typed */
    const char *exits;    /* a line each, "CODE what"; NULL: only those that all commands have */
};

extern const struct manual MANUALS[];
extern const size_t MANUALS_COUNT;

/* NULL: nothing is written about it. */
const struct manual *manual_of(const char *command);

/* The codes that every command may end with, a line each. */
extern const char MANUAL_EXITS[];

#endif
