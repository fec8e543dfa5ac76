import { describe, expect, it } from 'vitest';
import { REASONS } from '../../../../../src/domain/verdict/reasons.ts';
import { HealthAnswer } from '../../../../../src/contract/schemas/answers/health.ts';
import { ReleaseStatusReport } from '../../../../../src/contract/reports/report-releases.ts';
import { VERDICT_EXAMPLE } from '../../../../../src/contract/schemas/answers/verdict.ts';
import { ApiFailure } from '../../../../../src/server/dashboard/assets/api-client.js';
import {
  bytes,
  count,
  duration,
  relative,
  utc,
  words,
} from '../../../../../src/server/dashboard/assets/format.js';
import { summarizeVerdict } from '../../../../../src/server/dashboard/assets/verdict-summary.js';

const HEALTH = HealthAnswer.schema.parse(HealthAnswer.example);

function summary(
  readiness: object,
  refresh: object = {},
  failure: ApiFailure | null = null,
  daemon: typeof HEALTH.daemon | null = HEALTH.daemon,
): ReturnType<typeof summarizeVerdict> {
  const verdict = {
    readiness: { ...VERDICT_EXAMPLE, ...readiness },
    health: { ...HEALTH, refresh: { ...HEALTH.refresh, ...refresh }, daemon: daemon ?? undefined },
  };
  return summarizeVerdict({ verdict, failure, reasons: REASONS });
}

describe('the banner', () => {
  it('says that the release is served, since when and until when', () => {
    expect(summary({})).toMatchObject({
      tone: 'good',
      title: 'Release 1.66.405117 is being served',
      todo: null,
      since: VERDICT_EXAMPLE.since,
      until: VERDICT_EXAMPLE.attestation?.expires_at,
    });
  });

  it('says why nothing is served and what to do', () => {
    const damaged = summary({ distributable: false, reason: 'EntryDamaged', message: '1 entry is damaged' });
    expect(damaged).toMatchObject({
      tone: 'bad',
      why: '1 entry is damaged (EntryDamaged)',
      todo: REASONS.EntryDamaged,
    });
    expect(damaged.until).toBe(null);
    expect(summary({ shutting_down: true }).title).toBe('This server is shutting down');
  });

  it('warns while the daemon is silent, with the remaining time', () => {
    const silent = summary({}, { consecutive_failures: 3, last_error_code: 'unreachable' });
    expect(silent).toMatchObject({ tone: 'warn', until: VERDICT_EXAMPLE.attestation?.expires_at });
    expect(silent.why).toContain('3 polls');
  });

  it('repeats what the server says about a daemon that does not answer', () => {
    const message = 'The daemon has been unreachable since 10:00:00 UTC. Start it; files are served until x.';
    const away = { answers: false, failure: 'unreachable', since: 5, message } as const;
    expect(summary({}, {}, null, away)).toMatchObject({ tone: 'warn', why: message, todo: null, since: 5 });
    const damaged = { distributable: false, reason: 'EntryDamaged', message: '1 entry is damaged' };
    expect(summary(damaged, {}, null, away)).toMatchObject({
      why: `1 entry is damaged (EntryDamaged). ${message}`,
      todo: 'The daemon is not running, so nothing repairs this: start it.',
    });
    expect(summary(damaged, {}, null, { ...away, failure: 'timeout' }).todo).toContain('does not answer');
  });

  it('understands a server of the previous version, which says nothing of the daemon', () => {
    expect(summary({}, {}, null, null).tone).toBe('good');
    const damaged = { distributable: false, reason: 'EntryDamaged', message: '1 entry is damaged' };
    expect(summary(damaged, {}, null, null)).toMatchObject({
      why: '1 entry is damaged (EntryDamaged)',
      todo: REASONS.EntryDamaged,
    });
  });

  it('says why there is no release yet, and when the next try is', () => {
    const { sync, ...report } = ReleaseStatusReport.schema.parse(ReleaseStatusReport.example);
    const known = {
      verdict: {
        readiness: { ...VERDICT_EXAMPLE, distributable: false, reason: 'ReleaseNotAuthorized' as const },
        health: HEALTH,
      },
      failure: null,
      reasons: REASONS,
    };
    const releases = { ...report, official: null, sync };
    expect(summarizeVerdict({ ...known, releases })).toMatchObject({
      title: 'No release yet',
      why: `The last sync failed: ${sync.last?.message}.`,
      todo: expect.stringMatching(
        /^Correct the cause, then run sync, or wait for the next try at .*\d\d:\d\d/,
      ),
    });
    // A release that was withdrawn is another case, and so is a sync that has not ended.
    expect(summarizeVerdict({ ...known, releases: { ...report, sync } }).todo).toBe(
      REASONS.ReleaseNotAuthorized,
    );
    expect(
      summarizeVerdict({ ...known, releases: { ...releases, sync: { ...sync, last: null } } }).todo,
    ).toBe(REASONS.ReleaseNotAuthorized);
  });

  it('claims nothing while the server does not answer', () => {
    const offline = summary({}, {}, new ApiFailure('The server does not answer.'));
    expect(offline).toMatchObject({ tone: 'unknown', title: 'The server does not answer', until: null });
    expect(offline.why).toContain('At its last answer it served the release.');
    expect(summarizeVerdict({ verdict: null, failure: null, reasons: {} }).title).toBe('Loading the verdict');
  });
});

describe('words', () => {
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
    expect([utc(0), utc(1e20)]).toEqual(['1970-01-01T00:00:00Z', '100000000000000000000']);
  });

  it('show sizes, counts and names', () => {
    expect([bytes(0), bytes(1023), bytes(1024), bytes(6_442_450_944)]).toEqual([
      '0 B',
      '1023 B',
      '1.0 KiB',
      '6.0 GiB',
    ]);
    expect([count(7), count(1_234_567)]).toEqual(['7', '1,234,567']);
    expect(words('next_run-unix.seconds')).toBe('Next run unix seconds');
  });
});
