import { describe, expect, it } from 'vitest';
import { indexRelease, sha256, unitIdOf } from '../../../../support/index-release.ts';
import { buildTasks, openTestWork, rowsOf } from '../../../../support/translation-work.ts';
import { blockingFinding, EMPTY_UPDATE } from '../../../../support/translated-texts.ts';

describe('a refused update', () => {
  it('leaves nothing behind that a later call writes', () => {
    const work = openTestWork();
    indexRelease(work.index, 'r1', [{ destination: 'a.json', leaves: [{ units: [['k', 'はい']] }] }]);
    buildTasks(work, 1);
    const tasks = () => rowsOf(work.database, 'SELECT * FROM task');
    const before = tasks();
    const refused = work.updater.apply(
      {
        ...EMPTY_UPDATE,
        taskId: String(before[0]?.['task_id']),
        status: 'translated',
        results: [
          {
            unitId: unitIdOf('a.json', 'k'),
            sourceText: 'はい',
            sourceDigest: sha256('はい'),
            text: '是',
            pointer: '/translation_results/0',
            findings: [blockingFinding('tags')],
            qaIdentity: null,
            judgedBy: null,
          },
        ],
      },
      2,
    );
    expect(refused).toMatchObject({ code: 'qa_blocked' });
    work.leases.sweep(3);
    expect(tasks()).toEqual(before);
  });
});
