/* man.h - manual pages: a template of prose, and in it what the tables know. A line of a template
 * that begins with '@' stands for a part:
 *
 *   @title NAME N DATE   the head, with the version of the program
 *   @commands            all commands of aldaba: synopsis, what they do, options, examples, exits
 *   @options             those that every command takes
 *   @exits               exit codes of every command
 *   @settings GROUP ...  settings of these groups, in the order of their table
 *   @sinks               settings of a sink
 *
 * Pure.
 */
#ifndef ALD_CTL_MAN_H
#define ALD_CTL_MAN_H

#include "common/base/buf.h"
#include "common/base/guard.h"
#include "common/base/rc.h"

/* ALD_OK; ALD_INVALID: a part that there is not; err says which line. */
ALD_NODISCARD enum ald_rc man_page(struct ald_span template, struct ald_buf *out,
                                   struct ald_err *err);

#endif
