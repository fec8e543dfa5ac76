import { describe, expect, it } from 'vitest';
import { findInconsistentTargets } from '../../../../../src/domain/text/checks/find-inconsistent-targets.ts';

function unit(
  unit_id: string,
  source: string,
  target: string,
): Record<'unit_id' | 'source' | 'target', string> {
  return { unit_id, source, target };
}

describe('targets of one source', () => {
  it('are inconsistent where they differ from most others', () => {
    const found = findInconsistentTargets([
      unit('1', 'はい', '是'),
      unit('2', 'はい', '好的'),
      unit('3', 'はい', '是'),
      unit('4', '先生', '老师'),
      unit('5', '改\r\n行', '换\r\n行'),
      unit('6', '改\n行', '换\n行'),
      unit('7', 'が', '甲'),
      unit('8', 'か\u3099', '乙'),
    ]);
    expect(Array.from(found, ({ unit_id, finding }) => [unit_id, finding.check, finding.message])).toEqual([
      ['2', 'inconsistent_target', 'the target "是" stands for the same source 2 times'],
      ['8', 'inconsistent_target', 'the target "甲" stands for the same source once'],
    ]);
  });
});
