/* report.h - what a look at a store found, one line each, for a person or for the command that
 * asked:
 *
 *   fact NAME NUMBER       how much of something there is, such as `tasks.open 12`
 *   note TEXT              worth saying, and nothing is wrong
 *   problem TEXT           something is wrong
 *   letter ULID WORD       where a dead letter lies: open and outbox are the tracker's words, live
 *                          and closing the dlq's. In the order of the letters
 *
 * Programs that own a store write it (`aldaba-tracker --verify DIR`); `aldaba fsck` and `aldaba
 * restore` read it. Texts are escaped: a line is a line.
 * Threads: one owner.
 */
#ifndef ALD_STORE_REPORT_H
#define ALD_STORE_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/guard.h"
#include "common/base/span.h"

struct ald_report {
    FILE *to;
    unsigned problems;
};

void ald_report_fact(struct ald_report *self, const char *name, int64_t value);
void ald_report_note(struct ald_report *self, const char *format, ...) ALD_PRINTF(2, 3);
void ald_report_problem(struct ald_report *self, const char *format, ...) ALD_PRINTF(2, 3);
void ald_report_letter(struct ald_report *self, struct ald_span letter, const char *word);

#endif
