import { describe, expect, it } from 'vitest';
import { noUnits } from '../../../../src/domain/translation/unit-state.ts';
import { workFinding, type WorkFacts } from '../../../../src/daemon/translation/translation-checks.ts';

const FACTS: WorkFacts = {
  status: {
    schemaVersion: 1,
    targetLanguage: 'zh-Hans',
    tasks: {},
    built: { releaseId: 'r1', generation: 3 },
    units: { ...noUnits(), untranslated: 6, stale: 2, blocked: 1 },
    skippedUnits: noUnits(),
    excludedUnits: noUnits(),
    blockedUnits: { draft: 0, translated: 0, proofread: 0 },
    heldUnits: noUnits(),
    leases: { open: 2, expired: 0 },
    failedChunks: 0,
  },
  index: { release_id: 'r1', generation: 3 },
  history: { last: null, consecutiveFailures: 0, failingSince: null },
  isBuilding: false,
  isAutomatic: true,
};

const withStatus = (change: Partial<NonNullable<WorkFacts['status']>>): Partial<WorkFacts> => ({
  status: { ...FACTS.status!, ...change },
});

describe('the check of the work on translations', () => {
  it.each<[string, Partial<WorkFacts>, string, string]>([
    ['all is well', {}, 'ok', '8 units of r1 to translate, 1 blocked, 2 chunks leased'],
    [
      'a blocked unit is in a file that is not published',
      withStatus({ excludedUnits: { ...noUnits(), blocked: 1 } }),
      'ok',
      '1 blocked (1 more in files that are not published), 2 chunks',
    ],
    ['nothing is indexed yet', { index: null, ...withStatus({ built: null }) }, 'ok', 'no translation tasks'],
    ['the file cannot be used', { status: null }, 'ok', 'see database.translation'],
    [
      'a lease has expired',
      withStatus({ leases: { open: 0, expired: 2 } }),
      'degraded',
      'expired on 2 chunks; the next run of a worker takes over',
    ],
    ['chunks have failed', withStatus({ failedChunks: 3 }), 'degraded', '3 chunks of translation tasks'],
    [
      'the tasks are those of the release before',
      { index: { release_id: 'r2', generation: 4 } },
      'degraded',
      'the translation tasks of r2 are not built for its present index, those of r1 are shown; run "slipway ctl parse"',
    ],
    [
      'the index is another one of the same release',
      { index: { release_id: 'r1', generation: 4 } },
      'degraded',
      'r1 are not built for its present index; run',
    ],
    [
      'the tasks are being built',
      { index: { release_id: 'r2', generation: 4 }, isBuilding: true },
      'ok',
      'they are being built',
    ],
    [
      'tasks are not built by themselves',
      { index: { release_id: 'r2', generation: 4 }, isAutomatic: false },
      'ok',
      'translation.automatic is off',
    ],
    [
      'building them fails',
      {
        index: { release_id: 'r2', generation: 4 },
        history: { last: null, consecutiveFailures: 2, failingSince: 77 },
      },
      'degraded',
      'run "slipway ctl parse" when the cause is gone',
    ],
  ])('when %s', (_, facts, status, message) => {
    const finding = workFinding({ ...FACTS, ...facts });
    expect(finding.status).toBe(status);
    expect(finding.message).toContain(message);
    if (facts.history !== undefined) expect(finding.since).toBe(77);
  });
});
