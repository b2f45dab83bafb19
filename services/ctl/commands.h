/* commands.h - the commands of aldaba, one file for each group of them. Each returns an exit code.
 */
#ifndef ALD_CTL_COMMANDS_H
#define ALD_CTL_COMMANDS_H

#include "services/ctl/ctl.h"

typedef int command_fn(struct ctl *ctl, const struct args *args);

/* tasks.c */
command_fn task_submit, task_reserve, task_register, task_attach, task_show, task_list, task_cancel;
/* submit.c: the words of `submit` as the body of its request. False: said why. body takes 1 MiB. */
bool submit_body(const struct args *args, struct ald_buf *body);
/* feed.c */
command_fn feed_tail;
/* consumers.c */
command_fn consumers_list, consumers_show, consumers_remove;
/* desk.c */
command_fn desk_list, desk_show, desk_replay, desk_drop;
/* desk_groups.c, desk_edit.c, desk_replays.c */
command_fn desk_groups, desk_edit, desk_replay_all, desk_replays;
/* desk_again.c: replay one letter with --buy or --publish, and tell what came of it. */
command_fn desk_again;
/* provider_desk.c */
command_fn provider_status, provider_pause, provider_resume;
/* status.c */
command_fn status_show;
/* health.c */
command_fn health_show;
/* canary.c */
command_fn canary_show;
/* state.c */
command_fn state_audit, state_backup;
/* spool.c */
command_fn spool_drain;
/* local.c: these ask nobody */
command_fn local_config_check, local_config_print;
/* provider.c, provider_list.c: these ask nobody either */
command_fn provider_check, provider_list, provider_try;

/* config_schema.c, keys.c, help.c, completion.c: nor these */
command_fn config_schema, keys_new, help_show, completion_show;
/* top.c */
command_fn top_show;
/* restore.c, fsck.c: these look at files of this machine */
command_fn restore_put, fsck_show;

extern const struct command COMMANDS[];
extern const size_t COMMANDS_COUNT;

#endif
