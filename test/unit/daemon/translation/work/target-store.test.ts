import { describe, expect, it } from 'vitest';
import { createTargetHistory } from '../../../../../src/daemon/translation/work/target-history.ts';
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

  it('keeps the history of a unit in one chain, also after its target was taken back and removed', () => {
    const { database } = openTestWork();
    const targets = createTargetStore(database, 'zh-Hans', {
      move: () => undefined,
      moveAll: () => undefined,
    });
    const other = { ...TARGET, unitId: unitIdOf('a.json', 'other') };
    for (const text of ['是', '是的']) {
      targets.put({ ...TARGET, text }, NO_PROVENANCE);
      targets.put({ ...other, text }, NO_PROVENANCE);
    }
    targets.takeBack({ ...TARGET, text: '' }, NO_PROVENANCE);
    targets.put({ ...TARGET, text: '对' }, NO_PROVENANCE);
    targets.remove(UNIT);
    const history = createTargetHistory(database, 'zh-Hans');
    expect([...history.entriesOf(UNIT)].map((row) => [row['revision'], row['target_text']])).toEqual([
      [4, '对'],
      [3, ''],
      [2, '是的'],
      [1, '是'],
    ]);
    expect([...history.entriesOf(other.unitId)].map((row) => row['revision'])).toEqual([2, 1]);
    expect([...history.entriesOf(unitIdOf('a.json', 'never'))]).toEqual([]);
  });
});
