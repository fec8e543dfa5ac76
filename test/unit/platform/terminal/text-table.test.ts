import { describe, expect, it } from 'vitest';
import { newLines } from '../../../../src/cli/ctl/log-commands.ts';
import {
  printable,
  textBytes,
  textDuration,
  textTable,
  textTime,
} from '../../../../src/platform/terminal/text-table.ts';

describe('text for a terminal', () => {
  it('never contains terminal control characters', () => {
    expect(printable('a\u001b[2Jb\r\nc\u0007\u009b31m\u202ed')).toBe(
      'a\\x1b[2Jb\\x0d\\x0ac\\x07\\x9b31m\\u202ed',
    );
    expect(textTable(['A'], [['x\u001b]0;title\u0007']])).toBe('A\nx\\x1b]0;title\\x07\n');
  });

  it('is aligned in columns, without white space at the end', () => {
    expect(
      textTable(
        ['ID', 'STATE', 'WHY'],
        [
          ['long-name', 'ok', ''],
          ['b', 'failed', 'x'],
        ],
      ),
    ).toBe('ID         STATE   WHY\nlong-name  ok\nb          failed  x\n');
  });

  it('shows times, lengths and sizes in their largest unit', () => {
    expect(textTime(1_763_683_200, 1_763_683_500)).toBe('2025-11-21 00:00:00Z (5m ago)');
    expect(textTime(1_763_686_800, 1_763_683_200)).toBe('2025-11-21 01:00:00Z (in 1h)');
    expect([textTime(null, 0), textTime(2n ** 63n - 1n, 0)]).toEqual(['-', '9223372036854775807']);
    expect([0, 59, 60, 3600, 200_000].map(textDuration)).toEqual(['0s', '59s', '1m', '1h', '2d']);
    expect([0, 1023, 1024, 6_442_450_944].map(textBytes)).toEqual(['0 B', '1023 B', '1.0 KiB', '6.0 GiB']);
  });
});

describe('new lines in a window on a log', () => {
  it.each([
    ['nothing new', [1, 2, 3], [1, 2, 3], []],
    ['some more', [1, 2], [1, 2, 3, 4], [3, 4]],
    ['a window that moved', [1, 2, 3], [2, 3, 4], [4]],
    ['equal lines', [1, 1, 1], [1, 1, 1, 1], [1]],
    ['equal lines in a full window: as few as possible', [7, 7], [7, 7], []],
    ['no overlap', [1, 2], [5, 6], [5, 6]],
    ['a shorter log, after a restart', [1, 2, 3], [9], [9]],
    ['the first lines', [], [1], [1]],
  ])('%s', (_what, before, after, expected) => {
    expect(newLines(before, after)).toEqual(expected);
  });
});
