import { describe, expect, it } from 'vitest';
import { fillReport } from '../../../src/console/state/fill-report.ts';
import { REPORTS } from '../../../src/contract/reports/reports.ts';

describe('a report of a daemon of the previous version', () => {
  it('has the members of a unit that it leaves out', () => {
    const report = REPORTS['parse.text_units'].answer.example;
    const [unit] = report.items as ReadonlyArray<{ readonly translation?: object | null }>;
    const {
      waivers: _w,
      hold: _h,
      claim: _c,
      ...older
    } = { ...unit?.translation } as Record<string, unknown>;
    const filled = fillReport('parse.text_units', {
      ...report,
      items: [
        { ...unit, translation: older },
        { ...unit, translation: null },
      ],
    });
    expect(filled.items[0]?.translation).toMatchObject({ waivers: [], hold: null, claim: null });
    expect(filled.items[1]?.translation).toBeNull();
  });

  it('has a course of a task and a successor of a schedule', () => {
    expect(fillReport('task.status', { task: {} })).toMatchObject({ course: [] });
    expect(fillReport('schedule.list', { items: [{ id: 'a' }] })).toEqual({
      items: [{ id: 'a', replaced_by: null }],
    });
  });

  it('stays as it is where it makes no sense, for its page to say so', () => {
    expect(fillReport('schedule.list', { items: 'none' })).toEqual({ items: 'none' });
    expect(fillReport('task.status', null)).toBeNull();
  });
});
