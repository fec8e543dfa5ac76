import { describe, expect, it } from 'vitest';
import { REPORTS } from '../../../../src/contract/reports/reports.ts';
import { markExcluded } from '../../../../src/daemon/translation/left-out-units.ts';

const { schema, example } = REPORTS['translation.handoff'].answer;
const { releases } = schema.parse(example);

describe('listed units of files that no publication has', () => {
  it('say so, and the others stay as they are', () => {
    const [release] = releases;
    const [blocked] = release?.blocked ?? [];
    if (release === undefined || blocked === undefined) throw new Error('the example has no unit');
    const units = [
      { ...blocked, destination: 'Excel/a.json', left_out: null },
      { ...blocked, destination: 'Story/a.json', left_out: null },
      { ...blocked, destination: 'Story/b.json', left_out: 'skipped_task' as const },
    ];
    const held = (release.held ?? []).map((unit) => ({ ...unit, destination: 'Excel/b.json' }));
    const files = { include: [], exclude: ['Excel/**'] };
    const [marked] = markExcluded([{ ...release, blocked: units, held }], files);
    expect(marked?.blocked.map(({ left_out: why }) => why)).toEqual(['excluded_file', null, 'skipped_task']);
    expect(marked?.held.map(({ left_out: why }) => why)).toEqual(['excluded_file']);
    expect(markExcluded(releases, { include: [], exclude: [] })).toEqual(releases);
  });
});
