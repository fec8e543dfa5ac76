import { expect, it } from 'vitest';
import type { Channel } from '../../../../src/domain/release/channel.ts';
import type { Reason } from '../../../../src/domain/verdict/reasons.ts';
import type { Verdict } from '../../../../src/domain/verdict/verdict.ts';
import { createVerdictLog } from '../../../../src/server/serving/verdict-log.ts';

/** The levels at which a server logs these verdicts, one after another. */
function levelsOf(channel: Channel, reasons: ReadonlyArray<Reason | null>): readonly string[] {
  const levels: string[] = [];
  const log = createVerdictLog({
    info: () => levels.push('info'),
    warn: () => levels.push('warn'),
  });
  reasons.forEach((reason, index) => {
    const verdict = { channel, reason, distributable: reason === null } as Verdict;
    log(verdict, index === 0 ? null : { reason: reasons[index - 1] ?? null });
  });
  return levels;
}

it('gives no warning while the official channel has not been served yet', () => {
  expect(levelsOf('official', ['AttestationUnavailable', 'ReleaseNotAuthorized', 'SnapshotLoading'])).toEqual(
    ['info', 'info', 'info'],
  );
  expect(levelsOf('official', ['EntryDamaged'])).toEqual(['warn']);
});

it('gives a warning when an official release that was served is withdrawn, whatever came between', () => {
  expect(
    levelsOf('official', [null, 'EntryDamaged', 'ReleaseNotAuthorized', 'AttestationUnavailable', null]),
  ).toEqual(['info', 'warn', 'warn', 'warn', 'info']);
  expect(levelsOf('localized', [null, 'ReleaseNotAuthorized'])).toEqual(['info', 'info']);
});
