import { expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import type { DaemonCondition } from '../../../../src/domain/service-state/daemon-conditions.ts';
import {
  createServiceStateReader,
  type ServiceStateSources,
} from '../../../../src/server/service/service-state-reader.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import { factsOfVerdicts } from '../../../support/service-answer.ts';

function told(code: DaemonCondition['code']): DaemonCondition {
  return { code, message: `told: ${code}`, since: 1500, next_try: null };
}

it('calls a withdrawn channel withdrawn until a daemon that has started tells otherwise', () => {
  const { official } = HealthAnswer.example.verdicts;
  const message = 'no release is attested';
  const empty = { distributable: false, reason: 'ReleaseNotAuthorized', message, since: 1000 } as const;
  const { verdicts } = factsOfVerdicts({ official, localized: { ...empty, release_id: null } });
  let ahead: number | null = null;
  let conditions: readonly DaemonCondition[] | null = [told('localized_withdrawn')];
  const serving = {
    verdict: (channel: 'official' | 'localized') => verdicts[channel],
    attestation: () => null,
  } as unknown as ServiceStateSources['serving'];
  const read = createServiceStateReader({
    serving,
    daemon: () => ({ answers: true, failure: null, since: null, message: null }),
    refresh: () => ({ lastAttemptAt: 0, lastSuccessAt: 0, consecutiveFailures: 0, lastErrorCode: null }),
    conditions: () => conditions,
    clockAhead: () => ahead,
    isShuttingDown: () => false,
    clock: new FakeClock(),
  });
  const reason = (): string | null => read().channels.localized.reason;
  expect(reason()).toBe('ReleaseWithdrawn');
  conditions = [told('starting')];
  expect(reason()).toBe('ReleaseWithdrawn');
  conditions = null;
  expect(reason()).toBe('ReleaseWithdrawn');
  conditions = [];
  expect(reason()).toBe('NothingPublished');
  conditions = [told('starting')];
  expect(reason()).toBe('NothingPublished');
  // The channel of an edge stays a copy while the daemon of the edge starts.
  for (const now of [[told('localized_mirrored')], [told('starting')], null]) {
    conditions = now;
    expect(read().channels.localized.message).toBe('told: localized_mirrored');
  }
  conditions = [];
  const service = (seconds: number | null): unknown => {
    ahead = seconds;
    const { reason: cause, message: text } = read();
    return [cause, text];
  };
  for (const near of [null, 60, -60]) expect(service(near)).toMatchObject([null, expect.anything()]);
  expect(service(-3600)).toEqual([
    'ClockOff',
    'the clock of the daemon is about 60 min behind that of this server',
  ]);
  expect(service(120)).toMatchObject(['ClockOff', expect.stringContaining('2 min ahead of') as string]);
});
