/* regular.h - opening what must be a regular file.
 *
 * A named pipe makes open() wait for its other end, and a device or a folder fails later, far from
 * where its name is known. So every file that a person could have put something else in place of is
 * opened here. Nothing is locked or read. Any thread.
 */
#ifndef ALD_BASE_REGULAR_H
#define ALD_BASE_REGULAR_H

/* open(2) with flags and O_CLOEXEC, never waiting; what O_CREAT makes is 0600. The descriptor, or
 * -1 with errno set, EINVAL when path is no regular file. */
int ald_regular_open(const char *path, int flags);

/* Why path could not be opened, as the end of a sentence: what stands there instead of a file and
 * that it must go, else the text of code. Static, or until the next strerror. */
const char *ald_regular_why(const char *path, int code);

#endif
