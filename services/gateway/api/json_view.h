/* json_view.h - how the API shows what the daemons said: tasks, letters, consumers, figures. Events
 * are written by event_json.h, and values and sources here as there. Pure.
 */
#ifndef ALD_GATEWAY_JSON_VIEW_H
#define ALD_GATEWAY_JSON_VIEW_H

#include "common/base/json_out.h"
#include "proto/messages.h"

/* The members of a task, into an object that is open. base: of callback URLs. whole: what only the
 * answer about one task knows (how often it was polled) is shown, too. */
void view_task(struct ald_json_out *out, const struct msg_task_view *task, const char *base,
               bool whole);
/* Whole objects, elements of an array. */
void view_note(struct ald_json_out *out, const struct msg_note *note);
void view_attempt(struct ald_json_out *out, const struct msg_attempt *attempt);
/* The same, and what else happened to a letter. */
void view_letter_line(struct ald_json_out *out, const struct msg_attempt *line);
void view_letter_group(struct ald_json_out *out, const struct msg_letter_group *group);
void view_replay_count(struct ald_json_out *out, const struct msg_replay_count *count);
/* What a re-injection would do, as the member `dry_run`. */
void view_judged(struct ald_json_out *out, const struct msg_judged *judged);
/* The members of a bulk replay, into an object that is open. */
void view_replay(struct ald_json_out *out, const struct msg_replay *replay);
/* The members of a letter; its original, when it is there, is shown as the request it was, or as
 * the event that was not taken. */
void view_letter(struct ald_json_out *out, const struct msg_letter_view *letter);

/* The members of a consumer. */
void view_consumer(struct ald_json_out *out, const struct msg_consumer *consumer);

/* Figures as {"group": {"name": value or text}}; begin, one for each, end. A name that comes again
 * in another place of the answer must have its group's figures together. */
struct view_figures {
    struct ald_json_out *out;
    char group[ALD_WORD_MAX];
};
void view_figure(struct view_figures *self, const struct msg_figure *figure);
void view_figures_end(struct view_figures *self);

#endif
