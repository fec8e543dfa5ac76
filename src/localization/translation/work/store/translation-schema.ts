import { createTablesOf } from '../../../../engine/database/column-rules.ts';
import type { Migration } from '../../../../engine/database/migrate.ts';
import { TRANSLATION_TABLES } from './translation-tables.ts';

const table = createTablesOf(TRANSLATION_TABLES);

/**
 * A number of 48 bits by which `target_wording` has equal texts side by side, in what SQL itself can compute: the length, and the
 * first, the middle and the last but one character. Other texts can have it too.
 */
export const WORDING_KEY = `(((length(target_text) & 255) << 40) | ((coalesce(unicode(target_text), 0) & 65535) << 24)
  | ((coalesce(unicode(substr(target_text, length(target_text) / 2, 1)), 0) & 4095) << 12)
  | (coalesce(unicode(substr(target_text, -2, 1)), 0) & 4095))`;

/**
 * The tables of the work on translations.
 *
 * `build` is a set of tasks. The current one has the tasks of the release that the parse index shows, and keeps its id over releases.
 * The tasks of changed containers grow in another one. In one transaction they move to the current build, and the tasks that they
 * replace take their place in the other one, which is then `superseded` and has the tasks that left with the release before. A
 * growing build that was given up is `dropped`. See ADR 24.
 *
 * `task` is one container, `task_unit` its units in order, and `chunk` the runs of units that workers lease. `task.made_in` is the
 * build in which a task grew, `leaves_in` the one that will take it out of the current build, and `content_key` the content of its
 * file. `build.release_since` is the first build of the current release: how a unit follows the release before (`tier`,
 * `carried_from`) counts for tasks that were made since. `carried` names the units whose targets a growing build will change, and
 * `staged` is the working table of that change. Source texts are in the parse index.
 *
 * `check_cursor` is the last task of which the targets were checked, or evaluated by a provider, and the last unit of a task that is
 * not done yet.
 *
 * `review_row` is the working table of reviews: the targets that one of them accepts or returns, with their findings.
 *
 * `target` is the newest target of a unit, and `target_history` every target that was ever stored. Both belong to the unit and
 * the language, not to a task or a release. Each entry of the history names the previous one of its unit, and `target.entry`, or
 * `removed_target.entry` for a unit without a target, the newest one. An index of the history would cost one page for each new
 * target, because ids are digests; the one that there is has only what reviewers returned. For the same reason the targets of
 * equal sources are found by `task_unit.repetition`. `handoff_export` lists the files that were written for translators.
 * `target_search` finds the texts of the history, which only grows, by three characters; it has those up to `target_searched`.
 * Entries that are not the newest of their unit are left out by `target.entry`.
 * `proofread_container` names the containers of which a proofread accepted units.
 *
 * `task_unit.repetition` is equal for units that are translated once, and its first bytes for those of equal sources.
 * `changed_repetition` names the groups whose other units may need the target of one. `build.swept_task` and `swept_number` are the last unit of the current build of which the group was looked
 * for; NULL: nothing is left.
 * `task.repeats` says whether the rule of the container lets its units take part.
 *
 * `task.units_digest` is a digest of the units in their order, `has_moved` says whether one of them follows a unit of another place,
 * and `build.counted_until` how far the status of the tasks of a complete build was written.
 *
 * `task.judged_by` names the rules and the Glossary that all stored targets of a task were last judged by, and `judging_by` and
 * `judging_from` how far judging again has come. A target that was judged by something else removes them; `judging_resets` counts
 * how often such targets have made a run begin again.
 */
const WORK_SCHEMA = `
${table('build')}
CREATE UNIQUE INDEX build_current ON build (target_language) WHERE state = 'current';
CREATE UNIQUE INDEX build_building ON build (target_language) WHERE state = 'building';

${table('task')}
CREATE UNIQUE INDEX task_container
  ON task (build_id, destination, archive_entry IS NULL, coalesce(archive_entry, ''), is_visible);
CREATE INDEX task_leaving ON task (leaves_in) WHERE leaves_in IS NOT NULL;
CREATE INDEX task_listed ON task (is_visible, status = 'superseded', task_seq);
CREATE INDEX task_destination ON task (destination, is_visible);
CREATE INDEX task_archive_entry ON task (archive_entry, is_visible);
CREATE INDEX task_status ON task (is_visible, status);
CREATE INDEX task_worker_status ON task (is_visible, worker_status);
CREATE INDEX task_parse_status ON task (is_visible, parse_status);
CREATE INDEX task_format ON task (is_visible, format);
CREATE INDEX task_reason ON task (is_visible) WHERE reason <> '';
CREATE INDEX task_failure_reason ON task (is_visible) WHERE failure_reason <> '';
CREATE VIEW task_of_release AS SELECT task.*, release_id, generation FROM task JOIN build USING (build_id);

${table('task_unit', 'PRIMARY KEY (task_seq, number)')}
CREATE INDEX task_unit_unit ON task_unit (unit_id);
CREATE INDEX task_unit_repetition ON task_unit (repetition);
CREATE INDEX task_unit_carried_from ON task_unit (carried_from) WHERE carried_from IS NOT NULL;

${table('chunk', 'PRIMARY KEY (task_seq, number)')}
CREATE INDEX chunk_open ON chunk (state, task_seq, number) WHERE open_units > 0;
CREATE INDEX chunk_leased ON chunk (lease_expires_at) WHERE state = 'leased';

${table('target', 'UNIQUE (unit_id, target_language)')}
CREATE INDEX target_of_memory ON target (target_language, source_digest) WHERE author_kind = 'memory';
CREATE INDEX target_blocked ON target (unit_id, target_language) WHERE state = 'blocked';
CREATE INDEX target_propagated ON target (propagated_from) WHERE propagated_from IS NOT NULL;
CREATE INDEX target_wording ON target (target_language, ${WORDING_KEY});

${table('target_history')}
CREATE INDEX target_history_returned ON target_history (entry)
  WHERE reviewer_token_id IS NOT NULL AND state IN ('draft', 'blocked');
CREATE TRIGGER target_history_unchanged BEFORE UPDATE ON target_history
  BEGIN SELECT raise(ABORT, 'the history of targets is append-only'); END;
CREATE TRIGGER target_history_kept BEFORE DELETE ON target_history
  BEGIN SELECT raise(ABORT, 'the history of targets is append-only'); END;
CREATE VIRTUAL TABLE target_search USING fts5 (text, content='', detail='none', columnsize=0, tokenize='trigram');
${table('target_searched')}
INSERT INTO target_searched VALUES (0);

${table('removed_target', 'PRIMARY KEY (unit_id, target_language)')}

${table('carried', 'PRIMARY KEY (build_id, unit_id)')}

${table('staged')}
CREATE INDEX staged_unit ON staged (unit_id);

${table('waiver', 'PRIMARY KEY (unit_id, target_language, check_name, source_digest, target_digest)')}

${table('glossary_override')}
CREATE INDEX glossary_override_identity ON glossary_override (qa_identity);

${table('claim', 'PRIMARY KEY (unit_id, target_language)')}

${table('changed_repetition', 'UNIQUE (target_language, repetition)')}

${table('proofread_container')}
CREATE UNIQUE INDEX proofread_container_place
  ON proofread_container (target_language, destination, coalesce(archive_entry, ''));

${table('hold', 'PRIMARY KEY (unit_id, target_language)')}

${table('review_row', 'PRIMARY KEY (review_id, task_seq, number)')}

${table('check_cursor', 'PRIMARY KEY (name, target_language)')}

${table('handoff_export')}
`;

/**
 * The texts of localized releases. `publication` is one such release, `publication_container` its patched containers, and
 * `published_text` the units of each of them with the beginnings of the digests of their text and its source. Containers with one patch key have the
 * same texts. `loose_patch_key` names the keys whose texts no release has, or not yet.
 */
const PUBLICATION_SCHEMA = `
${table('publication', 'UNIQUE (target_language, localized_release_id)')}

${table('publication_container', 'PRIMARY KEY (publication_id, destination)')}
CREATE INDEX publication_container_key ON publication_container (patch_key);

${table('published_text', 'PRIMARY KEY (patch_key, unit_id)')}
CREATE INDEX published_text_unit ON published_text (unit_id);
CREATE INDEX published_text_source ON published_text (source_digest);

${table('loose_patch_key')}
`;

/** The schema of translation.db. Versions up to 6 were never released. */
export const TRANSLATION_MIGRATIONS: readonly Migration[] = [
  { version: 7, name: 'translation', sql: WORK_SCHEMA + PUBLICATION_SCHEMA },
];
