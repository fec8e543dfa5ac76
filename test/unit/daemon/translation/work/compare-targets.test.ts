import { expect, it } from 'vitest';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import { indexRelease } from '../../../../support/index-release.ts';
import { buildTasks, openTestWork, resultsOf, rowsOf } from '../../../../support/translation-work.ts';

/** More than a part of the comparison holds. */
const MANY = 2100;

it('finds the targets that differ from the usual one of their source in every part, in a group larger than a part too', () => {
  const work = openTestWork();
  const texts = [
    ...Array.from({ length: MANY }, (_, at) => `text ${Math.floor(at / 2)}`),
    ...Array.from({ length: MANY }, () => 'はい'),
  ];
  const units = texts.map((text, at) => [`k${at}`, text] as const);
  indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units }] }]);
  buildTasks(work, 1, 1000);
  const request = { owner: 'w', leaseSeconds: 60, maxAttempts: 3, taskId: null, after: null };
  for (let lease = work.leases.claim(request, 1); lease !== null; lease = work.leases.claim(request, 1)) {
    const { units: leased } = lease;
    const source = (at: number): string => texts[leased[at]?.ordinal ?? -1] ?? '';
    // The second unit of a pair, and one of the large group, have another target.
    const isOther = (at: number): boolean => {
      const ordinal = leased[at]?.ordinal ?? -1;
      return ordinal < MANY ? ordinal % 2 === 1 : ordinal === MANY + 7;
    };
    const text = (at: number): string => (isOther(at) ? '不' : '是');
    work.leases.store(lease.token, resultsOf(lease, text, source), NO_PROVENANCE, 1);
    work.leases.end(lease.token, { kind: 'done' }, 1);
  }
  let parts = 0;
  let [seen, inconsistent] = [0, 0];
  for (let after: Uint8Array | null = null, isFirst = true; isFirst || after !== null; isFirst = false) {
    const part = work.reviews.check.compare(after);
    [after, parts, seen, inconsistent] = [
      part.next,
      parts + 1,
      seen + part.units,
      inconsistent + part.inconsistent,
    ];
  }
  expect(parts).toBeGreaterThan(2);
  expect({ seen, inconsistent }).toEqual({ seen: texts.length, inconsistent: MANY / 2 + 1 });
  const marked = rowsOf(
    work.database,
    `SELECT count(*) AS units FROM target WHERE findings LIKE '%inconsistent_target%'`,
  );
  expect(marked).toEqual([{ units: MANY / 2 + 1 }]);
});
