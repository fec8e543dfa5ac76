import { TRANSLATION_STATUSES, WORKER_STATUSES } from '../../src/contract/schemas/vocabulary.ts';
import { carryTarget, type CarriedTier } from '../../src/domain/translation/carry-over.ts';
import { nextStatuses, type TranslationTaskStatus } from '../../src/domain/translation/task-status.ts';
import { UNIT_STATES, type UnitState } from '../../src/domain/translation/unit-state.ts';
import { codes, table } from './markdown.ts';

/** The meaning of each state of a unit, and how a unit gets into it. */
const UNITS: Readonly<Record<UnitState, readonly [string, string]>> = {
  untranslated: ['There is no target.', 'The unit is new, or its id belonged to another unit until now.'],
  draft: [
    'There is a target that nobody has handed in yet.',
    'A worker stores a result; `translation-task-update` with `in_progress` stores one of a person; a reviewer returns it.',
  ],
  translated: [
    'The target is ready for the review.',
    '`translation-task-update` with `translated` hands it in, also the drafts of the task; a carried-over target of the tier `unique` is at most this.',
  ],
  proofread: [
    'A reviewer has accepted the target.',
    '`translation-proofread` accepts it. Only the tiers `same` and `moved` keep it in the next release.',
  ],
  blocked: [
    'A finding with the severity `error` blocks the target.',
    'A target is stored, or judged again, with such a finding that no waiver and no override covers. A waiver, an override or a better target frees it.',
  ],
  stale: [
    'The source has changed since the target was made. Both texts before the change are kept.',
    'The next release has another text at the place of the unit. When the old text comes back, so does the target, at most as `translated`.',
  ],
};

/** The meaning of each status of a task. */
const TASKS: Readonly<Record<TranslationTaskStatus, string>> = {
  pending: 'No unit has a usable target, or someone opened the task again.',
  in_progress: 'A worker has leased a part of it, or some units have a target.',
  blocked: 'At least one unit is blocked.',
  translated: 'Every unit has a target, and nothing blocks.',
  proofread: 'A reviewer has accepted every unit.',
  published: 'The task is part of a published localized release.',
  failed:
    'The attempts of workers are used up and no unit has a target, or someone said so; see `failure_reason`.',
  skipped:
    'Someone decided against a translation; see `reason`. It stays until a new release changes the file.',
  superseded: 'The file has other units in a newer release, or a newer index of the same one, or is gone.',
};

/** The meaning of each state of the workers on a task. */
const WORKERS: Readonly<Record<(typeof WORKER_STATUSES)[number], string>> = {
  idle: 'No worker has taken a chunk, or all were given back.',
  leased: 'A worker has leased at least one chunk; `lease_expires_at` is the earliest end of a lease.',
  retry_wait: 'A chunk waits for its next attempt; see `next_attempt_at`.',
  succeeded: 'Workers have done what they can.',
  blocked: 'They have, and a unit is blocked.',
  failed: 'The attempts of a chunk are used up; see `failure_reason`.',
  cancelled: 'A run was cancelled. The next run takes its chunks; the attempt does not count.',
};

const TIERS: Readonly<Record<CarriedTier, string>> = {
  same: 'an equal id and an equal text',
  moved: 'an equal text with equal neighbours',
  unique: 'an equal text that occurs once in the container on both sides',
  changed: 'an equal id and another text',
  new: 'nothing',
};

/** docs/reference/translation-states.md */
export function renderTranslationStates(): string {
  return `# States of translations

Generated from the code by \`make docs\`; do not edit.

## Units

Every text unit has one state in the target language. \`parse.text_units\` shows it as \`translation.state\`, with a \`revision\`
that grows with every change and never begins again.

\`\`\`mermaid
stateDiagram-v2
  accTitle: States of a unit
  accDescr: From untranslated through draft and translated to proofread; findings block a unit, a changed source makes it stale.
  [*] --> untranslated
  untranslated --> draft: a target is stored
  draft --> translated: handed in
  translated --> proofread: accepted
  translated --> draft: returned
  draft --> blocked: finding of severity error
  translated --> blocked: judged again
  blocked --> draft: waiver, override or better target
  translated --> stale: the source changes
  proofread --> stale: the source changes
  stale --> draft: a new target
  stale --> translated: the old source comes back
\`\`\`

${table(
  ['State', 'Meaning', 'How a unit gets into it'],
  UNIT_STATES.map((state) => [`\`${state}\``, ...UNITS[state]]),
)}

Every target that was ever stored stays in the history of its unit, with its author and the time. A target can be written
again in every state; the state then follows from the new target.

## The next release

When the text of a release is indexed, its units follow those of the release before, by the first tier that fits. A target is
kept only for exactly the text that it was made for.

${table(['Tier', 'The unit has', ...carriedStates().map((state) => `\`${state}\` becomes`)], Object.keys(TIERS).map(tierRow))}

A target of the tier \`new\` is not used. The Translation Memory may know the text. A unit that comes back, with the text that it had,
after releases without it gets its own target again, as with \`unique\`.

## Tasks

A task is one container. It stays with its id as long as the container has the same units in the same order, also over releases; a
changed one gets a new task. \`release_id\` is the newest release that a task belongs to. The filter \`release_id\` gives the tasks
that a release had; those that were replaced are kept for the next ten releases that replace any. The status of a task follows from its units, unless someone set one. The first that fits counts:
\`published\`, \`failed\`, \`skipped\` or \`superseded\` as they were set, \`blocked\`, \`in_progress\` while a worker has a lease, the
\`pending\` or \`in_progress\` that someone asked for, and then what the units say. A task of which workers gave up some units is
\`in_progress\`, with the \`worker_status\` \`failed\`.

\`\`\`mermaid
stateDiagram-v2
  accTitle: Statuses of a task
  accDescr: From pending through in_progress, translated and proofread to published; a task can be blocked, failed, skipped or superseded.
  [*] --> pending
  pending --> in_progress: a lease, or a first target
  in_progress --> translated: every unit has a target
  translated --> proofread: every unit is accepted
  proofread --> published: localized-publish
  in_progress --> blocked: a unit is blocked
  blocked --> in_progress: no unit is blocked
  pending --> failed: attempts are used up
  failed --> pending: opened again
  pending --> skipped: someone decides
  skipped --> pending: opened again
  published --> superseded: the file has other units
  superseded --> [*]
\`\`\`

${table(
  ['Status', 'Meaning', '`translation-task-update` may set'],
  TRANSLATION_STATUSES.map((status) => [`\`${status}\``, TASKS[status], codes(nextStatuses(status, false))]),
)}

\`translated\` needs a target for every unit (\`units_missing\`) and none that is blocked (\`qa_blocked\`). \`failed\` needs
\`failure_reason\`, \`skipped\` needs \`reason\`. Results for a superseded task go to the task that replaced it, where the source
text is equal. People continue a failed task as with an open one, and \`translation.handoff\` lists it as ready with its
reason. A program sets \`pending\` first, and a run takes it with \`force\`.

## Workers

Workers lease chunks of at most 200 units. \`worker_status\`, \`attempt\` and \`lease_owner\` of a task sum up its chunks.

${table(
  ['`worker_status`', 'Meaning'],
  WORKER_STATUSES.map((status) => [`\`${status}\``, WORKERS[status]]),
)}

A worker whose lease has expired can no longer write, and another one takes the chunk. The attempt counts, unless the daemon
has ended meanwhile. The result of a worker loses against every change of the target since its lease began. A person can claim units with \`worker_id\` and \`lease_seconds\`, for a day
at most, and hold them with \`hold=UNIT\`: workers leave both alone, and other programs are refused without \`force\`.
`;
}

/** The states of a target that a release can carry over. */
function carriedStates(): readonly UnitState[] {
  return UNIT_STATES.filter((state) => state !== 'untranslated' && state !== 'stale');
}

/** The row of a tier; the rule itself gives the states. */
function tierRow(name: string): readonly string[] {
  const tier = name as CarriedTier;
  const states = carriedStates().map((state) =>
    tier === 'new'
      ? '`untranslated`'
      : `\`${carryTarget(tier, { state, fitsSource: tier !== 'changed', stateBefore: null }).state}\``,
  );
  return [`\`${tier}\``, TIERS[tier], ...states];
}
