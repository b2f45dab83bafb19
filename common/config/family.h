/* family.h - the compiled-in families of provider protocols, behind ald_profile_judge. Pure; any
 * thread. */
#ifndef ALD_CONFIG_FAMILY_H
#define ALD_CONFIG_FAMILY_H

#include "common/config/profile.h"

/* in.php, res.php, pingback. Contract of ald_profile_judge; *out and scratch come empty. */
void ald_inphp_judge(const struct ald_profile *profile, enum ald_stage stage,
                     const struct ald_facts *facts, struct ald_buf *scratch,
                     struct ald_verdict *out);

/* Contract of ald_profile_names_task; scratch comes empty. */
bool ald_inphp_names_task(const struct ald_profile *profile, const struct ald_facts *facts,
                          struct ald_buf *scratch);

/* What a code means to this family. Sets class, scope, block, wait and grace; a code that is not in
 * the table is of class UNKNOWN. */
void ald_inphp_code(const char *dialect, struct ald_span code, struct ald_verdict *out);

#endif
