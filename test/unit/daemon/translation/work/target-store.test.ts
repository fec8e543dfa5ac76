import { describe, expect, it } from 'vitest';
import { NO_PROVENANCE } from '../../../../../src/daemon/translation/work/target-rows.ts';
import {
  createTargetStore,
  type NewTarget,
} from '../../../../../src/daemon/translation/work/target-store.ts';
import { sha256, unitIdOf } from '../../../../support/index-release.ts';
import { openTestWork, rowsOf } from '../../../../support/translation-work.ts';

const UNIT = unitIdOf('a.json', 'k');
const TARGET: NewTarget = {
  unitId: UNIT,
  text: '是',
  state: 'translated',
  stateBefore: null,
  sourceText: 'はい',
  sourceDigest: sha256('はい'),
  authorKind: 'person',
  tokenId: 't',
  provider: null,
  providerRunId: null,
  findings: [],
  qaIdentity: null,
  propagatedFrom: null,
  updatedAt: 1,
};

describe('the revisions of the targets of a unit', () => {
  it('continue after a target whose state had changed was removed', () => {
    const { database } = openTestWork();
    const targets = createTargetStore(database, 'zh-Hans', {
      move: () => undefined,
      moveAll: () => undefined,
    });
    targets.put(TARGET, NO_PROVENANCE);
    targets.setState(UNIT, 'stale', 'translated', 2);
    expect(targets.get(UNIT)?.revision).toBe(2);
    targets.remove(UNIT);
    targets.remove(UNIT);
    expect(targets.put(TARGET, NO_PROVENANCE).revision).toBe(3);
    targets.remove(UNIT);
    expect(rowsOf(database, 'SELECT revision, state FROM target_history ORDER BY entry')).toEqual([
      { revision: 1, state: 'translated' },
      { revision: 2, state: 'stale' },
      { revision: 3, state: 'translated' },
    ]);
  });
});
