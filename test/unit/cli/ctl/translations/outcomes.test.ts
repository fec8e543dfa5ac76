import { expect, it } from 'vitest';
import { blockingText } from '../../../../../src/cli/ctl/translations/outcomes.ts';

it('names what blocks a target, and its remarks apart from that', () => {
  const error = { check: 'ruby_incomplete', severity: 'error', message: 'no reading' };
  const remark = { check: 'length_ratio', severity: 'warning', message: 'long' };
  expect(blockingText([remark, error])).toBe(
    'ruby_incomplete: no reading (not blocking: length_ratio: long)',
  );
  expect(blockingText([error])).toBe('ruby_incomplete: no reading');
});
