import { exampleOf } from '../../../scripts/reference/examples.ts';
import { describe, expect, it } from 'vitest';
import { HealthAnswer, type Health } from '../../../src/contract/schemas/answers/health.ts';
import { VERDICT_EXAMPLE } from '../../../scripts/reference/example-answers.ts';
import { ApiFailure } from '../../../src/console/api/api-client.ts';
import { SERVICE_STATE_NAMES } from '../../../src/domain/service-state/service-state.ts';
import {
  absolute,
  textBytes,
  count,
  duration,
  percent,
  relative,
  utc,
  sentences,
  withReadersTimes,
  words,
} from '../../../src/console/text/format.ts';
import { channelWords, stateWords } from '../../../src/console/state/service-states.ts';
import type { Task } from '../../../src/console/api/wire.ts';
import {
  doneText,
  isRun,
  reportOf,
  usageText,
} from '../../../src/console/translate/machine/machine-words.ts';
import { summarizeVerdict } from '../../../src/console/state/verdict-summary.ts';

const HEALTH = HealthAnswer.schema.parse(exampleOf(HealthAnswer));

/** @param changes of the state that the server decides */
function summary(
  changes: Partial<Health['service']> = {},
  {
    failure = null,
    readiness = {},
    daemon = HEALTH.daemon,
    now = 0,
  }: {
    readonly failure?: ApiFailure | null;
    readonly readiness?: object;
    readonly daemon?: Health['daemon'];
    readonly now?: number;
  } = {},
): ReturnType<typeof summarizeVerdict> {
  const verdict = {
    readiness: { ...VERDICT_EXAMPLE, ...readiness },
    health: { ...HEALTH, daemon, service: { ...HEALTH.service, ...changes } },
  };
  return summarizeVerdict(verdict, failure, now);
}

describe('the banner', () => {
  it('says that the release is served, and since when', () => {
    expect(summary()).toMatchObject({
      tone: 'ok',
      title: 'Release 1.66.405117 is being served',
      todo: null,
      action: null,
      since: VERDICT_EXAMPLE.since,
      until: null,
    });
  });

  it('says until when it is served only while the daemon is away', () => {
    const daemon = { answers: false, failure: 'unreachable', since: 1, message: 'away' } as const;
    expect(summary({ state: 'degraded' }, { daemon }).until).toBe(VERDICT_EXAMPLE.attestation?.expires_at);
  });

  it('becomes an emergency when the time runs out', () => {
    const daemon = { answers: false, failure: 'unreachable', since: 1, message: 'away' } as const;
    const end = VERDICT_EXAMPLE.attestation?.expires_at ?? 0;
    const tones = [480, 121, 120, 50].map(
      (left) => summary({ state: 'degraded' }, { daemon, now: end - left }).tone,
    );
    expect(tones).toEqual(['warn', 'warn', 'bad', 'bad']);
  });

  it('says that the localized channel is not served while the official one is', () => {
    const { channels } = HEALTH.service;
    const stale = { ...channels.localized, state: 'stale' } as const;
    expect(summary({ state: 'degraded', channels: { ...channels, localized: stale } }).title).toBe(
      'Release 1.66.405117 is being served, but the localized channel is not',
    );
    const degraded = { ...channels.localized, state: 'degraded' } as const;
    expect(summary({ state: 'degraded', channels: { ...channels, localized: degraded } }).title).toContain(
      'but the localized channel needs attention',
    );
    expect(
      summary({ state: 'degraded', channels: { ...channels, official: degraded, localized: degraded } })
        .title,
    ).toContain('but something needs attention');
  });

  it('repeats the cause, the next step and its action as the server tells them', () => {
    const damaged = {
      state: 'damaged',
      reason: 'EntryDamaged',
      message: '1 entry is damaged',
      next_step: { text: 'Run repair.', action: 'repair' },
    } as const;
    expect(summary(damaged, { readiness: { distributable: false } })).toMatchObject({
      tone: 'bad',
      title: 'The official release is not being served',
      why: '1 entry is damaged (EntryDamaged).',
      todo: 'Run repair.',
      action: 'repair',
      until: null,
    });
    expect(summary({ ...damaged, state: 'stopping' }).title).toBe('This server is shutting down');
    expect(summary({ ...damaged, state: 'unpublished' }).title).toBe('No release yet');
    expect(summary({ ...damaged, state: 'starting' })).toMatchObject({
      tone: 'warn',
      title: 'The service is starting',
    });
  });

  it('tells no end of the service while the daemon renews its attestation', () => {
    expect(summary({ state: 'degraded', reason: 'BaseReleaseChanged' }).until).toBeNull();
    const until = VERDICT_EXAMPLE.attestation?.expires_at;
    expect(summary({ state: 'degraded', reason: 'DaemonUnreachable' }).until).toBe(until);
  });

  it('says once which things are unknown because of the cause', () => {
    const caused = [
      { what: 'syncs', since: 5 },
      { what: 'repairs', since: 5 },
      { what: 'check manifest-intact', since: null },
    ];
    expect(summary({ state: 'degraded', caused })).toMatchObject({
      tone: 'warn',
      unknown: 'syncs, repairs',
      unknownSince: 5,
      until: null,
    });
  });

  it('claims nothing while the server does not answer', () => {
    const offline = summary({}, { failure: new ApiFailure('The server does not answer.') });
    expect(offline).toMatchObject({ tone: 'unknown', title: 'The server does not answer', until: null });
    expect(offline.why).toContain('At its last answer it served the release.');
    expect(summarizeVerdict(null, null, 0).title).toBe('Loading the verdict');
  });
});

describe('the state of a channel', () => {
  it.each(SERVICE_STATE_NAMES)('%s has one tone wherever it is shown', (state) => {
    const service = {
      ...HEALTH.service,
      state,
      channels: {
        ...HEALTH.service.channels,
        official: { ...HEALTH.service, state },
      },
    };
    const { tone } = stateWords(state);
    expect(channelWords({ ...HEALTH, service }, 'official').tone).toBe(tone);
    expect(summary({ state: service.state }).tone).toBe(tone);
  });
});

describe('words', () => {
  it('show a share, and never all of less than all', () => {
    expect([0, 0.00001, 0.0004, 0.05, 0.123, 0.9999, 1].map(percent)).toEqual([
      '0 %',
      '< 0.01 %',
      '0.04 %',
      '5.0 %',
      '12 %',
      '99 %',
      '100 %',
    ]);
  });

  it('show lengths of time by their two largest units', () => {
    const texts = [0, 59, 60, 3599, 3600, 90_000, 86_400 * 3].map(duration);
    expect(texts).toEqual(['0 s', '59 s', '1 min', '59 min 59 s', '1 h', '1 d 1 h', '3 d']);
  });

  it('show instants relative to now', () => {
    expect([relative(100, 101), relative(0, 45), relative(7200, 0), relative(0, 5400)]).toEqual([
      'now',
      '45 s ago',
      'in 2 h',
      '1 h ago',
    ]);
    const now = Date.parse('2026-03-01T12:00:00Z') / 1000;
    const message =
      'fetched (2026-03-01T11:00:00.000Z); the next starts at 2026-03-02T11:00:00Z, release 1.67';
    expect(withReadersTimes(message, now)).toBe(
      `fetched (${absolute(now - 3600, now)}); the next starts at ${absolute(now + 82_800, now)}, release 1.67`,
    );
    expect(sentences('no unit can be published: 3 untranslated', now)).toBe(
      'No unit can be published: 3 untranslated.',
    );
    expect(sentences('tt_1 waits since 2026-03-01T11:00:00Z', now)).toBe(
      `tt_1 waits since ${absolute(now - 3600, now)}.`,
    );
    expect([utc(0), utc(1e20)]).toEqual(['1970-01-01T00:00:00Z', '100000000000000000000']);
  });

  it('show sizes, counts and names', () => {
    expect([textBytes(0), textBytes(1023), textBytes(1024), textBytes(6_442_450_944)]).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '6.0 GiB',
    ]);
    expect([count(7), count(1_234_567)]).toEqual(['7', '1,234,567']);
    expect(words('next_run-unix.seconds')).toBe('Next run unix seconds');
  });
});

describe('a run with a provider', () => {
  const task = (kind: string, result: object | null, args: object = {}): Task =>
    ({ kind, args, status: 'succeeded', result }) as Task;

  it('is neither an estimate, nor a trial of one line, nor a suggestion, nor a check without a provider', () => {
    const kept = [task('worker-run', null), task('proofread', null, { provider: 'gpt' })];
    const others = [
      task('worker-run', null, { dry_run: true }),
      task('worker-run', null, { try_text: 'x' }),
      task('worker-run', null, { suggest: 'open' }),
      task('proofread', null),
      task('sync', null),
    ];
    expect([...others, ...kept].filter(isRun)).toEqual(kept);
  });

  it('says what it did and what it used', () => {
    const usage = { requests: 2, prompt_tokens: 1200, answer_tokens: 34, characters: 90, cost: 0.02 };
    const run = task('worker-run', { units: { translated: 40, failed: 0, left: 2 }, usage });
    expect([doneText(run), usageText(reportOf(run))]).toEqual([
      '40 translated, 2 left',
      '2 requests · 1,234 tokens · cost 0.02',
    ]);
    const evaluation = { evaluated: 9, findings: 2, findings_by_kind: { tone: 2 }, usage };
    expect(doneText(task('proofread', { tasks: 1, evaluation }))).toBe(
      '2 findings in 9 translations · 2 tone',
    );
    // What a review that failed has got is the whole of its result.
    expect(doneText(task('proofread', { ...evaluation, findings: 0, findings_by_kind: {} }))).toBe(
      '0 findings in 9 translations',
    );
    const free = { usage: { ...usage, prompt_tokens: 0, answer_tokens: 0, cost: 0 } };
    expect(usageText(free)).toBe('2 requests · 90 characters');
    expect([doneText(task('worker-run', null)), doneText(task('worker-run', { units: {} }))]).toEqual([
      '',
      'Nothing was open.',
    ]);
  });
});
