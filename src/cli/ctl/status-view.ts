import type { z } from 'zod';
import type { ReleaseStatusReport } from '../../contract/reports/report-releases.ts';
import type { ReadHealth } from '../../contract/schemas/answers/health.ts';
import type { Readiness } from '../../contract/schemas/answers/verdict.ts';
import { describeLocalized } from '../../domain/service-state/describe-state.ts';
import { textFields, textTime } from '../../platform/terminal/text-table.ts';
import type { View } from './output/view.ts';
import { outcomeOf } from './report-views.ts';
import type { TaskView } from './task-brief.ts';

type ReleaseStatus = z.output<typeof ReleaseStatusReport.schema>;
type Field = readonly [string, string];

interface StatusAnswers {
  readonly readiness: Readiness;
  /** `null` when `/healthz` gave no usable answer. */
  readonly health: ReadHealth | null;
  /** `null` while the daemon is unavailable. */
  readonly releases: ReleaseStatus | null;
  /** The active tasks that repair; `null` when nothing is damaged or they are unknown. */
  readonly repairs: readonly TaskView[] | null;
}

const DAMAGED_MAX = 5;

const RELATIONS = {
  in_sync: 'in sync: the localized release was made for the current official one',
  stale: 'stale: the localized release was made for an earlier official one',
  no_official: 'there is no official release',
  no_localized: 'there is no localized release',
  none: 'there is no release',
} satisfies Record<ReleaseStatus['relation'], string>;

/** Renders the state of the service, what the checks found, and the current releases. */
export function renderStatus(answers: StatusAnswers, { now, painter }: View): string {
  const { readiness, releases, repairs } = answers;
  const { attestation } = readiness;
  const fields: Field[] = [
    ...stateFields(answers, now),
    ['distributable', readiness.distributable ? 'yes' : 'no'],
    ['release', readiness.release_id ?? '-'],
    [
      'attestation',
      attestation === null
        ? '-'
        : `version ${attestation.version}, expires ${textTime(attestation.expires_at, now)}`,
    ],
    ...checkFields(readiness),
    ['daemon', daemonText(answers)],
    ...(repairs === null ? [] : [['repair', repairText(repairs)] as const]),
    ...(releases === null ? [] : releaseFields(releases, now)),
  ];
  return textFields(fields, painter);
}

/** The state as the server decides it. Without a usable answer of `/healthz` only the verdict is known. */
function stateFields({ readiness, health }: StatusAnswers, now: number): readonly Field[] {
  const service = health?.service;
  if (service === undefined) {
    const { reason, message, since } = readiness;
    return [
      ['state', reason === null ? 'served' : `not served (${reason})`],
      ['because', message],
      ['since', textTime(since, now)],
    ];
  }
  const { state, reason, message, since, next_step: next, caused } = service;
  const localized = describeLocalized(service);
  const unknown = caused.flatMap(({ what, since: from }) => (from === null ? [] : [{ what, from }]));
  const [first] = unknown;
  return [
    ['state', reason === null ? state : `${state} (${reason})`],
    ['because', message],
    ['since', textTime(since, now)],
    ...(next === null ? [] : [['next step', next.text] as const]),
    ...(first === undefined
      ? []
      : [
          [
            'unknown',
            `${unknown.map(({ what }) => what).join(', ')} since ${textTime(first.from, now)}`,
          ] as const,
        ]),
    ...(localized === null ? [] : [['localized', localized] as const]),
  ];
}

/** A failed check shows its cause only if the state does not; one that was not evaluated has a dash. */
function checkFields({ checks = [], message: shown }: Readiness): readonly Field[] {
  return checks.flatMap(({ name, ok, reason, message }): Field[] => {
    if (ok === true) return [];
    if (ok === null) return [[`check ${name}`, '-']];
    return [[`check ${name}`, message === shown ? 'failed' : `${reason ?? 'failed'}: ${message ?? ''}`]];
  });
}

function daemonText({ health, releases }: StatusAnswers): string {
  if (health?.daemon.answers === false) return 'does not answer';
  return releases === null ? 'the release report is not available' : 'answers';
}

function releaseFields(releases: ReleaseStatus, now: number): readonly Field[] {
  const { relation, sync } = releases;
  const channels = (['official', 'localized'] as const).flatMap((channel): Field[] => {
    const current = releases[channel];
    if (current === null) return [[`${channel} release`, '-']];
    const { release_id: id, state, integrity, verified_at: verifiedAt } = current;
    const stale = channel === 'localized' && relation === 'stale' ? ', stale (not distributed)' : '';
    return [
      [`${channel} release`, `${id}, ${state}${stale}, ${integrity}, ${checkedText(verifiedAt, now)}`],
      ...damagedFields(current),
    ];
  });
  return [
    ...channels,
    ['relation', RELATIONS[relation]],
    [
      'sync',
      `${syncText(sync, now)}${releases.origin === undefined ? '' : ', or when a poll of the origin finds a change'}`,
    ],
    ...originFields(releases, now),
  ];
}

function originFields({ origin, upstream }: ReleaseStatus, now: number): readonly Field[] {
  if (origin === undefined) return [];
  const { not_followed: trouble, went_back: back } = origin;
  return [
    ['origin', trouble?.message ?? `followed${upstream === null ? '' : ` (${upstream.label})`}`],
    ...(back === null
      ? []
      : [
          [
            'origin went back',
            `to ${back.channel} release ${back.release_id} from ${back.from_release_id}, ${textTime(back.at, now)}`,
          ] as const,
        ]),
  ];
}

/** The files of a new release can have been checked before it was published: a sync fetches only files that the volume does not have. */
function checkedText(verifiedAt: number | null, now: number): string {
  return verifiedAt === null ? 'not checked in full' : `oldest check ${textTime(verifiedAt, now)}`;
}

function damagedFields({
  damaged,
  damaged_count: count,
}: NonNullable<ReleaseStatus['official']>): readonly Field[] {
  const shown = damaged.slice(0, DAMAGED_MAX);
  const more = count - shown.length;
  return [
    ...shown.map((destination): Field => ['damaged', destination]),
    ...(more > 0 ? [['damaged', `and ${more} more`] as const] : []),
  ];
}

function repairText(repairs: readonly TaskView[]): string {
  if (repairs.length === 0) return 'none is queued or running';
  return repairs
    .map((task) => [`${task.status} (${task.task_id})`, outcomeOf(task)].filter(Boolean).join(', '))
    .join('; ');
}

function syncText({ last, next_at: nextAt }: ReleaseStatus['sync'], now: number): string {
  const next = nextAt === null ? 'none is planned' : `next ${textTime(nextAt, now)}`;
  if (last === null) return `none has ended; ${next}`;
  const why = last.code === null ? '' : `: ${last.code}: ${last.message ?? ''}`;
  return `${last.result ?? last.status} ${textTime(last.finished_at, now)}${why}; ${next}`;
}
