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
  withReadersTimes,
  words,
} from '../../../src/console/text/format.ts';
import { channelWords, stateWords } from '../../../src/console/state/service-states.ts';
import { summarizeVerdict } from '../../../src/console/state/verdict-summary.ts';

const HEALTH = HealthAnswer.schema.parse(exampleOf(HealthAnswer));

/** @param changes of the state that the server decides */
function summary(
  changes: Partial<Health['service']> = {},
  {
    failure = null,
    readiness = {},
    daemon = HEALTH.daemon,
  }: {
    readonly failure?: ApiFailure | null;
    readonly readiness?: object;
    readonly daemon?: Health['daemon'];
  } = {},
): ReturnType<typeof summarizeVerdict> {
  const verdict = {
    readiness: { ...VERDICT_EXAMPLE, ...readiness },
    health: { ...HEALTH, daemon, service: { ...HEALTH.service, ...changes } },
  };
  return summarizeVerdict(verdict, failure);
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
    expect(summarizeVerdict(null, null).title).toBe('Loading the verdict');
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
