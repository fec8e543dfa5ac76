import { describe, expect, it } from 'vitest';
import { overrideProblem } from '../../../../src/domain/glossary/override.ts';

const NOW = 1_763_683_200;
const VALID = {
  qaIdentity: 'gqa1_a',
  reviewer: 'mika',
  reason: 'a joke',
  provenance: 'review',
  confirmedAt: NOW,
};

describe('overrideProblem', () => {
  it.each([
    [{}, null],
    [{ confirmedAt: NOW + 300 }, null],
    [{ confirmedAt: 1 }, null],
    [{ confirmedAt: NOW + 301 }, { kind: 'in_future' }],
    [{ confirmedAt: 2n ** 62n }, { kind: 'in_future' }],
    [{ qaIdentity: 'gqa1_b' }, { kind: 'stale' }],
    [{ reviewer: ' ' }, { kind: 'blank', field: 'reviewer' }],
    [{ reason: '\u3000' }, { kind: 'blank', field: 'reason' }],
    [{ provenance: '' }, { kind: 'blank', field: 'provenance' }],
  ])('of %o is %o', (change, problem) => {
    expect(overrideProblem({ ...VALID, ...change }, 'gqa1_a', NOW)).toEqual(problem);
  });
});
