/* bug.h - faults that are made on purpose, so that the tests of faults can be seen to fail.
 *
 * All are 0 in every build but that of tests/fault/mutants.py, which sets one of them for the one
 * file that has it (ald_bug in the CMakeLists.txt beside it). Nothing else may name them.
 */
#ifndef ALD_BASE_BUG_H
#define ALD_BASE_BUG_H

/* A commit returns although its log is not synced. */
#ifndef ALD_BUG_sync_normal
#define ALD_BUG_sync_normal 0
#endif

/* What a batch did is acknowledged before it is committed. */
#ifndef ALD_BUG_ack_before_commit
#define ALD_BUG_ack_before_commit 0
#endif

/* A callback that is sent again is taken for another one. */
#ifndef ALD_BUG_no_dedup
#define ALD_BUG_no_dedup 0
#endif

/* New names in a folder are not made durable. */
#ifndef ALD_BUG_no_dirsync
#define ALD_BUG_no_dirsync 0
#endif

#define ALD_BUG(name) ALD_BUG_##name

#endif
