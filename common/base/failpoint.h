/* failpoint.h - places where a test makes the program fail, each by its name.
 *
 * In a build without ALDABA_FAILPOINTS a failpoint is its call and nothing else. In one with it the
 * environment says what happens where and when; docs/HACKING.md lists names and actions:
 *
 *   ALDABA_FAILPOINT="store.commit:crash:3,mark.sync:eio:1+"
 *
 * A word that is not understood ends the program: a test must not believe that it broke something.
 * Threads: any. Occurrences are counted over all of them.
 */
#ifndef ALD_BASE_FAILPOINT_H
#define ALD_BASE_FAILPOINT_H

#include <stdbool.h>

#include "common/base/rc.h"

#ifdef ALDABA_FAILPOINTS

/* The value of call; or that of failed, and call is not made, when this occurrence is to fail. */
#define ALD_FAILPOINT(name, call, failed) (ald_failpoint(name) ? (failed) : (call))

/* A place where nothing can fail, but the process can die or be slow. */
#define ALD_FAILPOINT_STEP(name) ((void)ald_failpoint(name))

/* Count an occurrence and do what is due at it. True: what follows is to fail; errno says how. */
bool ald_failpoint(const char *name);

/* Of the failpoint at which this thread failed last: what its caller returns, ALD_FULL or ALD_IO;
 * whether half of the bytes are to be written; whether a message is to be lost unnoticed. */
enum ald_rc ald_failpoint_rc(void);
bool ald_failpoint_short(void);
bool ald_failpoint_drop(void);

#else

#define ALD_FAILPOINT(name, call, failed) (call)
#define ALD_FAILPOINT_STEP(name) ((void)0)

#endif

/* A write of bytes: half of them are written, or none. */
#define ALD_FAILPOINT_WRITE(name, call, half)                                                      \
    ALD_FAILPOINT(name, call, ald_failpoint_short() ? (half) : -1)

#endif
